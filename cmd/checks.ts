import { accessSync, constants, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Config, LoadedConfig } from "../lib/config/config.ts";
import { describeSkipped } from "../lib/config/describe.ts";
import { loadConfig } from "../lib/config/load.ts";
import { databaseFile, projectConfigFile, userConfigFile } from "../lib/config/paths.ts";
import { counted } from "../lib/counted.ts";
import { KodaError, messageOf, reasonOf } from "../lib/errors.ts";
import { findProgram, safeSearchPath } from "../lib/files/program.ts";
import { endpointOf } from "../lib/model/address.ts";
import { assertPriced } from "../lib/model/catalog.ts";
import { isDemo } from "../lib/model/demoname.ts";
import { isOnThisMachine, listModels } from "../lib/model/discovery.ts";
import { keySource } from "../lib/model/key.ts";
import { resolveModel } from "../lib/model/resolve.ts";
import { openStore } from "../lib/session/store.ts";
import { ripgrepProgram } from "../lib/tools/search/program.ts";
import {
  checkAgents,
  checkInstructions,
  checkPlugins,
  checkPrompts,
  checkSkills,
  type UsedFile,
} from "./definitionscheck.ts";
import { checkEgress } from "./egresscheck.ts";
import type { ListedHook, ListedServer } from "./listed.ts";
import { checkHooks, checkServerList, isOfPrograms } from "./programscheck.ts";
import { type CurrentProject, projectConfig } from "./project.ts";
import { checkSandbox, type SandboxDetails } from "./sandboxcheck.ts";

/** `warn`: a run works, but not as well. `fail`: a run would not start. */
export type DoctorCheck = {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly message: string;
  /** The remedy, if the message does not name it. */
  readonly fix?: string;
  /** The files that a run here would use. */
  readonly files?: readonly UsedFile[];
  /** The MCP servers that a run here would start. */
  readonly servers?: readonly ListedServer[];
  readonly hooks?: readonly ListedHook[];
} & Partial<SandboxDetails>;

export type CheckResult = Omit<DoctorCheck, "name">;

/** Checks everything that `koda exec` in this directory needs, without changing anything. */
export async function checkAll(project: CurrentProject, signal: AbortSignal): Promise<DoctorCheck[]> {
  const loaded = await configOrDefaults(project);
  const { config } = loaded;
  const checks: readonly [name: string, check: () => CheckResult[] | Promise<CheckResult[]>][] = [
    ["configuration", async () => await checkConfiguration(project)],
    ["instructions", () => checkInstructions(project)],
    ["skills", () => checkSkills(project)],
    ["prompts", () => checkPrompts(project)],
    ["agents", () => checkAgents(project)],
    ["plugins", () => checkPlugins(project)],
    ["MCP servers", async () => await checkServerList(project, loaded, signal)],
    ["hooks", () => checkHooks(project, loaded)],
    ["database", async () => [await checkDatabase(project)]],
    ["model", async () => [await checkModel(config, project, signal)]],
    ["sandbox", async () => [await checkSandbox(config, project)]],
    ["egress", async () => [checkEgress(config, project)]],
    ["temporary files", async () => [checkTemporary()]],
    ["git", async () => [checkProgram("git", project, "koda finds changed files by comparing them, which is slower")]],
    ["shell", async () => [checkProgram("bash", project, "commands run in sh, but models usually write for bash")]],
    ["search", async () => [await checkSearch()]],
  ];
  const found: DoctorCheck[] = [];
  for (const [name, check] of checks) {
    found.push(...(await run(name, check, signal)));
    signal.throwIfAborted();
  }
  return found;
}

/** A KodaError is a failed check; any other error is a bug in koda. */
async function run(
  name: string,
  check: () => CheckResult[] | Promise<CheckResult[]>,
  signal: AbortSignal,
): Promise<DoctorCheck[]> {
  try {
    return (await check()).map((finding) => ({ name, ...finding }));
  } catch (error) {
    if (signal.aborted || !(error instanceof KodaError)) throw error;
    return [{ name, status: "fail", message: error.message }];
  }
}

/** With a broken file the other checks use the defaults. */
async function configOrDefaults(project: CurrentProject): Promise<LoadedConfig> {
  try {
    return await projectConfig(project);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    return await loadConfig({ ...project, env: {}, bare: true, sets: [], overrides: {} });
  }
}

async function checkConfiguration(project: CurrentProject): Promise<CheckResult[]> {
  const { skipped } = (await projectConfig(project)).project;
  const files = [userConfigFile(project), projectConfigFile(project.root)].filter((file) => file !== undefined);
  const found = files.filter((file) => existsSync(file));
  const message = found.length === 0 ? "no configuration file: the defaults apply" : found.join(", ");
  return [
    { status: "ok", message },
    ...skipped
      .filter((setting) => !isOfPrograms(setting))
      .map((setting): CheckResult => ({ status: "warn", message: describeSkipped(setting) })),
  ];
}

async function checkDatabase(project: CurrentProject): Promise<CheckResult> {
  const path = databaseFile(project);
  if (!existsSync(path)) return checkNewDatabase(path);
  await using store = openStore(path);
  const sessions = store.count();
  return { status: "ok", message: `${path} (${counted(sessions, "session")})` };
}

/** The first run creates the database and its directory; this checks whether it can. */
function checkNewDatabase(path: string): CheckResult {
  let directory = dirname(path);
  while (!existsSync(directory)) directory = dirname(directory);
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return { status: "ok", message: `${path} (created by the first run)` };
  } catch (error) {
    return {
      status: "fail",
      message: `Cannot create ${path}: "${directory}" is not writable: ${reasonOf(error)}`,
      fix: "set KODA_HOME to a writable directory, or run with --ephemeral",
    };
  }
}

async function checkModel(config: Config, { env, root }: CurrentProject, signal: AbortSignal): Promise<CheckResult> {
  const wanted = config.model === undefined ? {} : { model: config.model };
  const { provider, info, key } = await resolveModel(wanted, {
    config,
    env,
    signal,
    writable: [root, ...config.sandbox.write],
  });
  if (config.limits.maxCostUsd !== undefined && !isDemo(config.model)) assertPriced(info);
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

function checkTemporary(): CheckResult {
  const directory = tmpdir();
  try {
    rmSync(mkdtempSync(join(directory, "koda-doctor-")), { recursive: true });
    return { status: "ok", message: directory };
  } catch (error) {
    return {
      status: "fail",
      message: `Cannot write to "${directory}": ${reasonOf(error)}`,
      fix: "set TMPDIR to a writable directory",
    };
  }
}

/** A program that a run uses if it is installed, and not in the project. */
function checkProgram(name: string, { env, root }: CurrentProject, withoutIt: string): CheckResult {
  const program = findProgram(name, safeSearchPath(env["PATH"] ?? "", [root]), [root]);
  if (program !== undefined) return { status: "ok", message: program };
  return { status: "warn", message: `not found: ${withoutIt}`, fix: `install ${name}` };
}

async function checkSearch(): Promise<CheckResult> {
  const program = await ripgrepProgram().catch((error: unknown) => new Error(messageOf(error)));
  if (program === undefined) return { status: "fail", message: "this build has no ripgrep: Grep does not work" };
  if (program instanceof Error) return { status: "fail", message: `Grep does not work: ${program.message}` };
  return { status: "ok", message: "ripgrep, built in" };
}
