import { accessSync, constants, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Config, LoadedConfig } from "../lib/config/config.ts";
import { describeSkipped } from "../lib/config/describe.ts";
import { loadConfig } from "../lib/config/load.ts";
import { databaseFile, projectConfigFile, userConfigFile } from "../lib/config/paths.ts";
import { counted } from "../lib/counted.ts";
import { KodaError, reasonOf } from "../lib/errors.ts";
import { endpointOf } from "../lib/model/address.ts";
import { isOnThisMachine, listModels } from "../lib/model/discovery.ts";
import { keySource } from "../lib/model/providers.ts";
import { resolveModel } from "../lib/model/resolve.ts";
import { openStore } from "../lib/session/store.ts";
import { ripgrepProgram } from "../lib/tools/search/program.ts";
import { checkEgress } from "./egresscheck.ts";
import { type Here, loadHere } from "./here.ts";
import { checkSandbox, type SandboxDetails } from "./sandboxcheck.ts";

/** `warn`: a run works without it, if not as well. `fail`: it would not begin. */
export type Check = {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly message: string;
  /** What to do about it, where the message does not say so itself. */
  readonly fix?: string;
} & Partial<SandboxDetails>;

export type Finding = Omit<Check, "name">;

/** Everything that `koda exec` in this directory would need, looked at without changing anything. */
export async function checkAll(places: Here, signal: AbortSignal): Promise<Check[]> {
  const { config } = await loadAsFarAsPossible(places);
  const checks: readonly [name: string, check: () => Promise<Finding[]>][] = [
    ["configuration", async () => await checkConfiguration(places)],
    ["database", async () => [await checkDatabase(places)]],
    ["model", async () => [await checkModel(config, places, signal)]],
    ["sandbox", async () => [await checkSandbox(config, places)]],
    ["egress", async () => [checkEgress(config, places)]],
    ["temporary files", async () => [checkTemporary()]],
    ["git", async () => [checkGit(places)]],
    ["shell", async () => [checkShell(places)]],
    ["search", async () => [await checkSearch()]],
  ];
  const found: Check[] = [];
  for (const [name, check] of checks) {
    found.push(...(await checked(name, check, signal)));
    signal.throwIfAborted();
  }
  return found;
}

/** What the user can act on is a finding; anything else is a defect, of koda and not of this machine. */
async function checked(name: string, check: () => Promise<Finding[]>, signal: AbortSignal): Promise<Check[]> {
  try {
    return (await check()).map((finding) => ({ name, ...finding }));
  } catch (error) {
    if (signal.aborted || !(error instanceof KodaError)) throw error;
    return [{ name, status: "fail", message: error.message }];
  }
}

/** With a file that cannot be read, the other checks go by what holds without it. */
async function loadAsFarAsPossible(places: Here): Promise<LoadedConfig> {
  try {
    return await loadHere(places);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    return await loadConfig({ ...places, env: {}, bare: true, sets: [], overrides: {} });
  }
}

async function checkConfiguration(places: Here): Promise<Finding[]> {
  const { skipped } = await loadHere(places);
  const files = [userConfigFile(places), projectConfigFile(places.root)].filter((file) => file !== undefined);
  const found = files.filter((file) => existsSync(file));
  const message = found.length === 0 ? "no configuration file, so the defaults apply" : found.join(", ");
  return [
    { status: "ok", message },
    ...skipped.map((setting): Finding => ({ status: "warn", message: describeSkipped(setting) })),
  ];
}

async function checkDatabase(places: Here): Promise<Finding> {
  const path = databaseFile(places);
  if (!existsSync(path)) return checkNewDatabase(path);
  await using store = openStore(path);
  const sessions = store.list().length;
  return { status: "ok", message: `${path} (${counted(sessions, "session")})` };
}

/** It is made by the first run, with its directory; here it is only seen whether that will work. */
function checkNewDatabase(path: string): Finding {
  let above = dirname(path);
  while (!existsSync(above)) above = dirname(above);
  try {
    accessSync(above, constants.W_OK | constants.X_OK);
    return { status: "ok", message: `${path} (created by the first run)` };
  } catch (error) {
    return {
      status: "fail",
      message: `Cannot make ${path}: "${above}" cannot be written to (${reasonOf(error)})`,
      fix: "set KODA_HOME to a writable directory, or run with --ephemeral",
    };
  }
}

async function checkModel(config: Config, { env, root }: Here, signal: AbortSignal): Promise<Finding> {
  const wanted = config.model === undefined ? {} : { model: config.model };
  const { provider, info, key } = await resolveModel(wanted, {
    config,
    env,
    signal,
    writable: [root, ...config.sandbox.write],
  });
  const name = `${info.provider}/${info.name}`;
  if (key !== undefined) return { status: "ok", message: `${name}, key from ${keySource(key)}` };
  if (!isOnThisMachine(provider)) return { status: "ok", message: `${name}, needs no key` };
  if ((await listModels(provider)) !== undefined)
    return { status: "ok", message: `${name}, answers at ${endpointOf(provider)}` };
  return {
    status: "fail",
    message: `${name} does not answer at ${endpointOf(provider)}`,
    fix: "start its server, or name another model with -m (koda models lists them)",
  };
}

function checkTemporary(): Finding {
  const directory = tmpdir();
  try {
    rmSync(mkdtempSync(join(directory, "koda-doctor-")), { recursive: true });
    return { status: "ok", message: directory };
  } catch (error) {
    return {
      status: "fail",
      message: `Cannot write to "${directory}" (${reasonOf(error)})`,
      fix: "set TMPDIR to a writable directory",
    };
  }
}

function checkGit({ env }: Here): Finding {
  const git = Bun.which("git", { PATH: env["PATH"] ?? "" });
  if (git !== null) return { status: "ok", message: git };
  return {
    status: "warn",
    message: "not found: koda compares files to see what a run changed, which is slower",
    fix: "install git",
  };
}

function checkShell({ env }: Here): Finding {
  const bash = Bun.which("bash", { PATH: env["PATH"] ?? "" });
  if (bash !== null) return { status: "ok", message: bash };
  return {
    status: "warn",
    message: "not found: commands run in sh, and models usually write for bash",
    fix: "install bash",
  };
}

async function checkSearch(): Promise<Finding> {
  using ripgrep = await ripgrepProgram();
  if (ripgrep !== undefined) return { status: "ok", message: "ripgrep, built in" };
  return { status: "warn", message: "ripgrep is not in this build or cannot be started: koda's own search is slower" };
}
