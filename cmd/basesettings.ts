import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { accountHome } from "../lib/config/account.ts";
import { loadConfig } from "../lib/config/load.ts";
import type { Overrides } from "../lib/config/overrides.ts";
import { configDirectory, findDataDirectory } from "../lib/config/paths.ts";
import { errnoOf, KodaError, reasonOf } from "../lib/errors.ts";
import type { Settings } from "../lib/conversation/settings.ts";
import type { CommandOptions } from "./options.ts";

/** Flags for the project and the policy of commands. */
type PolicyOptions = Omit<CommandOptions<"sandbox">, "command" | "json"> & {
  readonly mcpConfig?: readonly string[];
  /** Those that a client brings (`koda acp`). */
  readonly clientServers?: Readonly<Record<string, unknown>>;
};

/** Settings of every command, whether a model or the user runs it. */
type BaseSettings = Pick<
  Settings,
  "root" | "home" | "accountHome" | "env" | "loaded" | "dataDirectory" | "configDirectory" | "sandboxed" | "bare"
>;

/** Reads flags, environment and files; `overrides` come from further flags. */
export async function baseSettings(options: PolicyOptions, overrides: Overrides = {}): Promise<BaseSettings> {
  const places = { env: process.env, home: homedir() };
  const root = rootOf(options.cd);
  const { bare, trustProject: isTrusted, config: sets, clientServers = {} } = options;
  const mcpFiles = options.mcpConfig?.map((file) => resolve(file)) ?? [];
  const all = { ...policyOf(options), ...overrides };
  const loaded = await loadConfig({ ...places, root, bare, isTrusted, sets, mcpFiles, clientServers, overrides: all });
  return {
    root,
    ...places,
    accountHome: accountHome(),
    loaded,
    dataDirectory: findDataDirectory(places),
    configDirectory: configDirectory(places),
    sandboxed: !options.noSandbox,
    bare,
  };
}

/** The real path of the project. */
export function rootOf(directory: string | undefined): string {
  const shown = directory ?? ".";
  try {
    const root = realpathSync(resolve(shown));
    if (!statSync(root).isDirectory())
      throw new KodaError("usage", `Cannot work in "${shown}": it is not a directory (--cd)`);
    accessSync(root, constants.X_OK);
    return root;
  } catch (error) {
    if (error instanceof KodaError) throw error;
    const verb = errnoOf(error) === "EACCES" ? "enter" : "work in";
    const place = directory === undefined ? "the current directory" : `the project "${directory}"`;
    throw new KodaError("usage", `Cannot ${verb} ${place}: ${reasonOf(error)}`, { cause: error });
  }
}

/** The value of a flag, with its name. */
export function given<T>(value: T | undefined, flag: `-${string}`): { value: T; flag: `-${string}` } | undefined {
  return value === undefined ? undefined : { value, flag };
}

function policyOf(options: PolicyOptions): Overrides {
  const { mode, allowWrite, allowRead, denyRead, allowGit, allowConfig, allowEnv } = options;
  return {
    mode: given(mode, "--mode"),
    "sandbox.write": givenSome(allowWrite, "--allow-write"),
    "sandbox.read": givenSome(allowRead, "--allow-read"),
    "sandbox.hide": givenSome(denyRead, "--deny-read"),
    "sandbox.allow_git": given(allowGit || undefined, "--allow-git"),
    "sandbox.allow_config": given(allowConfig || undefined, "--allow-config"),
    ...egressOverrides(options),
    "sandbox.pass_env": givenSome(allowEnv, "--allow-env"),
  };
}

type EgressOptions = Pick<CommandOptions<"proxy">, "net" | "allowNet" | "denyNet">;

/** Overrides from the network flags. */
export function egressOverrides({ net, allowNet, denyNet }: EgressOptions): Overrides {
  return {
    "egress.mode": given(net, "--net"),
    "egress.allow": givenSome(allowNet, "--allow-net"),
    "egress.deny": givenSome(denyNet, "--deny-net"),
  };
}

function givenSome(values: readonly string[], flag: `-${string}`) {
  return given(values.length > 0 ? values : undefined, flag);
}
