import { resolve } from "node:path";
import type { Overrides } from "../lib/config/overrides.ts";
import { databaseFile } from "../lib/config/paths.ts";
import type { SessionChoice, Settings } from "../lib/conversation/settings.ts";
import type { TrafficOptions } from "../lib/model/traffic.ts";
import { realPaths } from "../lib/files/real.ts";
import { inMemory } from "../lib/session/database.ts";
import { given, baseSettings } from "./basesettings.ts";
import { openNote } from "./note.ts";
import type { ExecOptions } from "./options.ts";
import { resumeFlags } from "./resumeflags.ts";
import { version } from "./version.ts";

/** The settings of a run from flags, environment and configuration files. */
export async function settingsOf(
  options: ExecOptions & Pick<Parameters<typeof baseSettings>[0], "clientServers">,
  command: Settings["command"] = "exec",
): Promise<Settings> {
  const base = await baseSettings(options, overridesOf(options));
  const { root, loaded } = base;
  return {
    version,
    ...base,
    explicit: {
      mode: loaded.origins.get("mode")?.startsWith("flag") ?? false,
      write: options.allowWrite.flatMap((path) => realPaths(resolve(root, path))),
      read: options.allowRead.flatMap((path) => realPaths(resolve(root, path))),
      allowGit: options.allowGit,
      allowConfig: options.allowConfig,
      net: loaded.origins.get("egress.mode")?.startsWith("flag") ?? false,
      allowNet: options.allowNet,
    },
    database: options.ephemeral ? inMemory : databaseFile(base),
    session: sessionChoice(options),
    wait: { ms: options.wait ?? 0, note: openNote(options) },
    waitLimitMs: options.waitLimit ?? 0,
    agent: options.agent,
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
      ...(options.edit !== undefined && { edit: options.edit }),
    },
    hasImages: options.image.length > 0,
    answerSchema: await answerSchemaOf(options),
    verify: options.verify === undefined ? undefined : { command: options.verify, most: options.verifyAttempts ?? 3 },
    command,
    resumeFlags: resumeFlags(options),
    failOn: options.failOn.map((name) => failOnCodes[name]),
    requiresFinish: options.finish !== undefined,
  };
}

const failOnCodes = {
  denied: "denied",
  "tool-error": "tool_error",
  "no-change": "no_change",
  incomplete: "incomplete",
} as const;

/** The cassettes of --record and --replay. */
export function cassetteOf({ record, replay, replayLoose }: ExecOptions): TrafficOptions {
  return {
    loose: replayLoose,
    ...(record !== undefined && { record: resolve(record) }),
    ...(replay !== undefined && { replay: resolve(replay) }),
  };
}

async function answerSchemaOf({ outputSchema }: ExecOptions): Promise<Settings["answerSchema"]> {
  if (outputSchema === undefined) return undefined;
  const { readAnswerSchema } = await import("./schema.ts");
  return await readAnswerSchema(outputSchema);
}

function overridesOf(options: ExecOptions): Overrides {
  const { model, maxTurns, maxTokens, maxCost, timeout, idleTimeout, maxCommandTime } = options;
  return {
    model: given(model, "--model"),
    "limits.max_turns": given(maxTurns, "--max-turns"),
    "limits.max_tokens": given(maxTokens, "--max-tokens"),
    "limits.max_cost": given(maxCost, "--max-cost"),
    "limits.timeout": given(timeout, "--timeout"),
    "limits.idle_timeout": given(idleTimeout, "--idle-timeout"),
    "limits.max_command_time": given(maxCommandTime, "--max-command-time"),
  };
}

function sessionChoice({ session, resume, last, fork }: ExecOptions): SessionChoice {
  if (session !== undefined) return { kind: "named", id: session };
  if (resume !== undefined) return { kind: "resume", id: resume };
  if (fork !== undefined) return { kind: "fork", id: fork };
  return last ? { kind: "last" } : { kind: "new" };
}
