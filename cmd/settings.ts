import { realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { accountHome } from "../lib/config/account.ts";
import { loadConfig } from "../lib/config/load.ts";
import type { Overrides } from "../lib/config/overrides.ts";
import { configDirectory, databaseFile, findDataDirectory } from "../lib/config/paths.ts";
import { KodaError, reasonOf } from "../lib/errors.ts";
import type { SessionChoice, Settings } from "../lib/engine/settings.ts";
import { inMemory } from "../lib/session/database.ts";
import { realPaths } from "../lib/trust/real.ts";
import type { ExecOptions } from "./options.ts";
import { readAnswerSchema } from "./schema.ts";
import { version } from "./version.ts";

/** What the flags, the environment and the configuration files ask of a run, in one record. */
export async function settingsOf(options: ExecOptions): Promise<Settings> {
  const { env } = process;
  const places = { env, home: homedir() };
  const root = rootOf(options.cd);
  const loaded = await loadConfig({
    ...places,
    root,
    bare: options.bare,
    sets: options.config,
    overrides: overridesOf(options),
  });
  return {
    version,
    root,
    ...places,
    accountHome: accountHome(),
    loaded,
    explicit: {
      mode: loaded.origins.get("mode")?.startsWith("flag") ?? false,
      write: options.allowWrite.flatMap((path) => realPaths(resolve(root, path))),
      read: options.allowRead.flatMap((path) => realPaths(resolve(root, path))),
      allowGit: options.allowGit,
      net: loaded.origins.get("egress.mode")?.startsWith("flag") ?? false,
      allowNet: options.allowNet,
    },
    database: options.ephemeral ? inMemory : databaseFile(places),
    dataDirectory: findDataDirectory(places),
    configDirectory: configDirectory(places),
    session: sessionChoice(options),
    waitMs: options.wait ?? 0,
    sandboxed: !options.noSandbox,
    bare: options.bare,
    tools: { allow: options.allowTool, deny: options.denyTool },
    endpoint: {
      ...(options.baseUrl !== undefined && { baseUrl: options.baseUrl }),
      ...(options.apiKeyEnv !== undefined && { apiKeyEnv: options.apiKeyEnv }),
      ...(options.wire !== undefined && { wire: options.wire }),
    },
    model: {
      ...(options.reasoningEffort !== undefined && { reasoningEffort: options.reasoningEffort }),
      ...(options.temperature !== undefined && { temperature: options.temperature }),
      ...(options.maxOutputTokens !== undefined && { maxOutputTokens: options.maxOutputTokens }),
    },
    cassette: {
      loose: options.replayLoose,
      ...(options.record !== undefined && { record: resolve(options.record) }),
      ...(options.replay !== undefined && { replay: resolve(options.replay) }),
    },
    answerSchema: options.outputSchema === undefined ? undefined : await readAnswerSchema(options.outputSchema),
    failOn: options.failOn.map((name) => (name === "tool-error" ? "tool_error" : name)),
  };
}

/** The project, as its real path: everything that is compared with it is real too. */
export function rootOf(directory: string | undefined): string {
  const shown = directory ?? ".";
  try {
    const root = realpathSync(resolve(shown));
    if (statSync(root).isDirectory()) return root;
  } catch (error) {
    const place = directory === undefined ? "the current directory" : `the project "${directory}"`;
    throw new KodaError("usage", `Cannot work in ${place}: ${reasonOf(error)}`, { cause: error });
  }
  throw new KodaError("usage", `Cannot work in "${shown}": it is not a directory (--cd)`);
}

function overridesOf(options: ExecOptions): Overrides {
  const { model, mode, maxTurns, maxTokens, timeout, idleTimeout, maxCommandTime } = options;
  const { allowWrite, allowRead, denyRead, allowGit, allowEnv } = options;
  return {
    model: given(model, "--model"),
    mode: given(mode, "--mode"),
    "limits.max_turns": given(maxTurns, "--max-turns"),
    "limits.max_tokens": given(maxTokens, "--max-tokens"),
    "limits.timeout": given(timeout, "--timeout"),
    "limits.idle_timeout": given(idleTimeout, "--idle-timeout"),
    "limits.max_command_time": given(maxCommandTime, "--max-command-time"),
    "sandbox.write": given(allowWrite.length > 0 ? allowWrite : undefined, "--allow-write"),
    "sandbox.read": given(allowRead.length > 0 ? allowRead : undefined, "--allow-read"),
    "sandbox.hide": given(denyRead.length > 0 ? denyRead : undefined, "--deny-read"),
    "sandbox.allow_git": given(allowGit || undefined, "--allow-git"),
    ...egressOverrides(options),
    "sandbox.pass_env": given(allowEnv.length > 0 ? allowEnv : undefined, "--allow-env"),
  };
}

/** What the flags about hosts say, for every command that has them. */
export function egressOverrides({
  net,
  allowNet,
  denyNet,
}: Pick<ExecOptions, "net" | "allowNet" | "denyNet">): Overrides {
  return {
    "egress.mode": given(net, "--net"),
    "egress.allow": given(allowNet.length > 0 ? allowNet : undefined, "--allow-net"),
    "egress.deny": given(denyNet.length > 0 ? denyNet : undefined, "--deny-net"),
  };
}

function given<T>(value: T | undefined, flag: `-${string}`) {
  return value === undefined ? undefined : { value, flag };
}

function sessionChoice({ session, resume, last, fork }: ExecOptions): SessionChoice {
  if (session !== undefined) return { kind: "named", id: session };
  if (resume !== undefined) return { kind: "resume", id: resume };
  if (fork !== undefined) return { kind: "fork", id: fork };
  return last ? { kind: "last" } : { kind: "new" };
}
