import { homedir } from "node:os";
import { resolve } from "node:path";
import { runChat } from "../lib/chat/chat.ts";
import type { SettingsChange } from "../lib/chat/submission.ts";
import { editConfigFile } from "../lib/config/edit.ts";
import { userConfigFile } from "../lib/config/paths.ts";
import { Host } from "../lib/conversation/host.ts";
import { KodaError } from "../lib/errors.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import { deliver } from "./deliver.ts";
import { inputLines } from "./lines.ts";
import type { CommandOptions, ExecOptions } from "./options.ts";
import { ownFiles, ownOutput } from "./ownoutput.ts";
import { asJson, print, report } from "./print.ts";
import { cassetteOf, settingsOf } from "./settings.ts";
import type { Stopper } from "./signals.ts";
import { sinkFor } from "./stdio.ts";
import { version } from "./version.ts";

type ChatOptions = CommandOptions<"chat">;

/** `koda chat --json`: a conversation for programs, and the exit code of its last event. */
export async function chat(options: ChatOptions, stopper: Stopper): Promise<number> {
  if (options.printSchema) return await printSchemas();
  const run = asRun(options);
  return await deliver(
    (conclude) => {
      const host = new Host({ stop: stopper.controller, cassette: cassetteOf(run), reaper: new Reaper() });
      stopper.killNow = () => host.killNow();
      return runChat(host, {
        lines: inputLines(Bun.stdin.stream(), host.signal),
        version,
        own: ownOutput(run),
        ownFiles: ownFiles(run),
        settings: (changes) => settingsOf(changes.reduce(withChange, run)),
        remember,
        conclude,
        report: async (error) => void (await report(error)),
      });
    },
    { sink: await sinkFor({ ...run, output: "jsonl" }), stop: stopper.controller },
  );
}

/** Adds the start of a command to the user's configuration. */
async function remember(prefix: string): Promise<void> {
  const file = userConfigFile({ env: process.env, home: homedir() });
  if (file === undefined) throw new KodaError("config", "there is no directory for the configuration");
  const key = "approvals.commands";
  await editConfigFile(file, {
    path: key.split("."),
    value: (entries) => {
      const raw = entries.find((entry) => entry.key === key)?.raw;
      return [...new Set([...(Array.isArray(raw) ? raw : []), prefix])];
    },
  });
}

/** A chat is a run without a prompt and without a single answer. */
function asRun(options: ChatOptions): ExecOptions {
  return { ...options, image: [], stream: false, failOn: [] };
}

/** The command line of a chat with a change of its settings. */
function withChange(options: ExecOptions, change: SettingsChange): ExecOptions {
  const { model, mode, cwd, effort, net } = change;
  return {
    ...options,
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
    ...(cwd !== undefined && { cd: resolve(options.cd ?? ".", cwd) }),
    ...(effort !== undefined && { reasoningEffort: effort }),
    ...(net !== undefined && { net }),
    allowWrite: [...options.allowWrite, ...(change.allow_write ?? [])],
    allowRead: [...options.allowRead, ...(change.allow_read ?? [])],
    denyRead: [...options.denyRead, ...(change.deny_read ?? [])],
    allowNet: [...options.allowNet, ...(change.allow_net ?? [])],
    denyNet: [...options.denyNet, ...(change.deny_net ?? [])],
    mcpConfig: [...options.mcpConfig, ...(change.mcp_config === undefined ? [] : [change.mcp_config])],
    allowGit: change.allow_git ?? options.allowGit,
  };
}

async function printSchemas(): Promise<number> {
  const [{ submissionJsonSchema }, { lineJsonSchema }] = await Promise.all([
    import("../lib/chat/submission.ts"),
    import("../lib/engine/event.ts"),
  ]);
  await print(asJson({ submission: submissionJsonSchema(), event: lineJsonSchema() }));
  return 0;
}
