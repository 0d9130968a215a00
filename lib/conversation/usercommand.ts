import type { EventOf } from "../engine/event.ts";
import { runCommand } from "../tools/bash.ts";
import { resultText } from "../tools/tool.ts";
import type { Conversation } from "./conversation.ts";

type UserCommand = { id: string; command: string };

/** Runs a command of the user's in the sandbox, beside a turn or between two. The model reads of it. */
export async function runUserCommand(
  conversation: Conversation,
  { id, command }: UserCommand,
  signal: AbortSignal,
): Promise<EventOf<"shell.end">> {
  const { events, workspace, watchKey } = conversation.parts;
  const { repositories } = workspace;
  const context = conversation.contextOfUser(id);
  events.post({ type: "shell.start", id, command });
  const startedAt = performance.now();
  conversation.userCommands.add(id);
  using _ = { [Symbol.dispose]: () => void conversation.userCommands.delete(id) };
  await repositories.before(signal);
  try {
    const report = (stream: "stdout" | "stderr", text: string) =>
      events.post({ type: "shell.output", id, stream, text });
    const limit = { seconds: context.shell.maxSeconds, notes: [] };
    const ran = await runCommand(command, limit, { ...context, call: id, signal, report });
    const summary = resultText(ran);
    const exposure = watchKey("shell", summary);
    if (exposure !== undefined) events.post(exposure);
    const { exitCode, signal: killed, timedOut, hint, output } = ran;
    const result = {
      type: "shell.end" as const,
      id,
      ...(exitCode !== undefined && { exit_code: exitCode }),
      ...(killed !== undefined && { signal: killed }),
      ...(timedOut !== undefined && { timed_out: timedOut }),
      duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
      ...(hint !== undefined && { hint }),
      summary,
      ...(output !== undefined && { output_id: output }),
    };
    conversation.note({ kind: "note", text: `The user ran \`${command}\`:\n\n${summary}` });
    events.post(result);
    return result;
  } finally {
    for (const notice of await repositories.after()) events.post(notice);
  }
}
