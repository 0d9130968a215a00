import type { Conversation } from "../conversation/conversation.ts";
import { rollbackIn } from "../conversation/rollback.ts";
import { runUserCommand } from "../conversation/usercommand.ts";
import type { Event } from "../engine/event.ts";
import type { Outcome } from "../engine/outcome.ts";
import { KodaError } from "../errors.ts";
import type { ChatConversation } from "./chatconversation.ts";
import { isOp, type Queue, type Submitted, type SubmittedOf } from "./queue.ts";
import type { SubmissionOf } from "./submission.ts";

type Between = {
  opened: ChatConversation;
  queue: Queue;
  /** The outcome of the last turn. */
  last: Outcome;
  signal: AbortSignal;
};

/** Carries out a submission between turns, and returns its result. */
export async function* betweenTurns(
  job: Submitted,
  { opened, queue, last, signal }: Between,
): AsyncGenerator<Event, unknown> {
  const { conversation } = opened;
  const { events } = conversation.parts;
  const { submission } = job;
  switch (submission.op) {
    case "settings": {
      const { op: _, id: __, ...change } = submission;
      return yield* opened.change(change, signal);
    }
    case "shell":
      return yield* events.until(shellResult(conversation, { ...job, submission }, signal));
    case "compact":
      return { compacted: yield* conversation.compact(signal) };
    case "undo":
      return yield* events.until(rollbackIn(conversation, { turns: 1, files: true }));
    case "rollback": {
      const { turns, files = false } = submission;
      return yield* events.until(rollbackIn(conversation, { turns, files }));
    }
    case "mcp.refresh":
      // The next one replaces it.
      if (queue.waiting.some((other) => isOp(other, "mcp.refresh"))) return { replaced: true };
      return yield* refresh(opened, submission, signal);
    case "clear":
      return yield* opened.clear(job, { last, queue, signal });
    default:
      throw new Error(`${submission.op} is not carried out between turns`);
  }
}

/** Runs a command of the user's. */
export async function shellResult(
  conversation: Conversation,
  { id, submission: { command } }: SubmittedOf<"shell">,
  signal: AbortSignal,
): Promise<unknown> {
  const { exit_code } = await runUserCommand(conversation, { id, command }, signal);
  return { exit_code };
}

async function* refresh(
  opened: ChatConversation,
  { config }: SubmissionOf<"mcp.refresh">,
  signal: AbortSignal,
): AsyncGenerator<Event, unknown> {
  try {
    return yield* opened.refresh(config, signal);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    const message = `The MCP servers are as before: ${error.message}`;
    yield { type: "notice", level: "warn", code: "mcp", message };
    throw error;
  }
}
