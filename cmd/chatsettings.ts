import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { InputHistory } from "../lib/chat/inputhistory.ts";
import type { SettingsChange } from "../lib/chat/submission.ts";
import { editConfigFile } from "../lib/config/edit.ts";
import { findDataDirectory, userConfigFile } from "../lib/config/paths.ts";
import { KodaError } from "../lib/errors.ts";
import { rootOf } from "./basesettings.ts";
import type { CommandOptions, ExecOptions } from "./options.ts";
import { ownFiles, ownOutput } from "./ownoutput.ts";
import { report } from "./print.ts";
import { settingsOf } from "./settings.ts";
import { version } from "./version.ts";

export type ChatOptions = CommandOptions<"chat">;

/** The parts of every chat that come from the command line. `clientServers` are the MCP servers of a client. */
export function chatParts(options: ChatOptions, clientServers: Readonly<Record<string, unknown>> = {}) {
  const run = asRun(options);
  const command = options.json ? "exec" : "chat";
  return {
    run,
    version,
    own: ownOutput(run),
    ownFiles: ownFiles(run),
    settings: async (changes: readonly SettingsChange[]) => {
      const changed = changes.reduce(withChange, { ...run, ...settled(run, run.cd) });
      return settingsOf({ ...changed, clientServers }, command);
    },
    history: historyOf(options),
    report: async (error: unknown) => void (await report(error)),
  };
}

export function historyOf({ ephemeral }: ChatOptions): InputHistory | undefined {
  const directory = ephemeral ? undefined : findDataDirectory({ env: process.env, home: homedir() });
  return directory === undefined ? undefined : new InputHistory(join(directory, "history.jsonl"));
}

const approvedCommands = "approvals.commands";

/** Adds the start of a command to the user's configuration. */
export async function rememberPrefix(prefix: string): Promise<void> {
  await editPrefixes((prefixes) => [...new Set([...prefixes, prefix])]);
}

/** Takes the start of a command out of it. */
export async function forgetPrefix(prefix: string): Promise<void> {
  await editPrefixes((prefixes) => {
    if (prefixes.includes(prefix)) return prefixes.filter((each) => each !== prefix);
    const expected = prefixes.length === 0 ? "none is saved" : `expected one of ${prefixes.join(", ")}`;
    throw new KodaError("usage", `Cannot remove "${prefix}": ${expected}`);
  });
}

async function editPrefixes(change: (prefixes: readonly string[]) => readonly string[]): Promise<void> {
  const file = userConfigFile({ env: process.env, home: homedir() });
  if (file === undefined) throw new KodaError("config", "there is no directory for the configuration");
  await editConfigFile(file, {
    path: approvedCommands.split("."),
    value: (entries) => {
      const raw = entries.find((entry) => entry.key === approvedCommands)?.raw;
      return change(Array.isArray(raw) ? raw.map(String) : []);
    },
  });
}

/** A chat is a run without a prompt and without a single answer. */
function asRun(options: ChatOptions): ExecOptions {
  return { ...options, image: [], stream: false, failOn: [] };
}

type Lists = Pick<ExecOptions, "allowWrite" | "allowRead" | "denyRead">;

/** The command line of a chat after these changes of its settings. */
export function changedOptions(options: ChatOptions, changes: readonly SettingsChange[]): ChatOptions {
  const run = asRun(options);
  const { verify: _, ...others } = options;
  const {
    image: __,
    stream: ___,
    failOn: ____,
    ...changed
  } = changes.reduce(withChange, { ...run, ...settled(run, run.cd) });
  return { ...others, ...changed };
}

/** The command line of a chat with a change of its settings. */
function withChange(options: ExecOptions, change: SettingsChange): ExecOptions {
  const { model, mode, cwd, effort, net, verify } = change;
  const { verify: before, ...kept } = options;
  const verified = verify === undefined ? before : (verify ?? undefined);
  const { allow_write: allowWrite = [], allow_read: allowRead = [], deny_read: denyRead = [] } = change;
  const cd = cwd === undefined ? options.cd : resolve(options.cd ?? ".", cwd);
  const added = settled({ allowWrite, allowRead, denyRead }, cd);
  return {
    ...kept,
    ...(verified !== undefined && { verify: verified }),
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
    ...(cd !== undefined && { cd }),
    ...(effort !== undefined && { reasoningEffort: effort }),
    ...(net !== undefined && { net }),
    allowWrite: [...options.allowWrite, ...added.allowWrite],
    allowRead: [...options.allowRead, ...added.allowRead],
    denyRead: [...options.denyRead, ...added.denyRead],
    allowNet: [...options.allowNet, ...(change.allow_net ?? [])],
    denyNet: [...options.denyNet, ...(change.deny_net ?? [])],
    mcpConfig: [...options.mcpConfig, ...(change.mcp_config === undefined ? [] : [change.mcp_config])],
    allowGit: change.allow_git ?? options.allowGit,
  };
}

/** Paths mean what they meant in the directory in which they were given, also when the chat goes on in another one. */
function settled({ allowWrite, allowRead, denyRead }: Lists, directory: string | undefined): Lists {
  const settle = (paths: readonly string[]) =>
    paths.map((path) => (/^~(?=\/|$)/.test(path) ? path : resolve(rootOf(directory), path)));
  return { allowWrite: settle(allowWrite), allowRead: settle(allowRead), denyRead: settle(denyRead) };
}
