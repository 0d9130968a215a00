import type { AssistantMessage, ImagePart, TextPart } from "../model/message.ts";
import type { FinishReason, Usage } from "../model/model.ts";
import type { TodoItem } from "./todo.ts";

/** The surroundings a turn ran in. A resumed session compares them with today's and tells the model only what differs. */
export type Environment = {
  cwd: string;
  date: string;
  mode: string;
  sandbox: string;
  writable: readonly string[];
  model: string;
  provider: string;
};

/**
 * One entry of a session's log. The log is only appended to; what the model sees is a function of it (history.ts).
 * An item is committed before anything about it is announced.
 */
export type Item =
  /** What the model is told of its surroundings: `text` goes to it as a user message, `facts` is for comparing. */
  | { kind: "environment"; text: string; facts: Environment }
  | { kind: "user"; parts: readonly (TextPart | ImagePart)[] }
  /** The engine's own words to the model, sent as a user message: a nudge, a repair request. */
  | { kind: "note"; text: string }
  | { kind: "assistant"; parts: AssistantMessage["parts"]; finish: FinishReason; usage: Usage }
  | {
      kind: "result";
      call: string;
      tool: string;
      ok: boolean;
      parts: readonly (TextPart | ImagePart)[];
      denied?: string;
      exitCode?: number;
      output?: string;
      durationMs: number;
    }
  | { kind: "todo"; items: readonly TodoItem[] }
  | { kind: "turn_start" }
  | {
      kind: "turn_end";
      reason: "complete" | "cancelled" | "limit" | "error";
      error?: { code: string; message: string };
    };

export type ItemKind = Item["kind"];

/** An item as it stands in the log. Turns count from 1; what precedes the first turn has turn 0. */
export type LoggedItem = Item & { seq: number; turn: number; at: string };
