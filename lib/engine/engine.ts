import type { JsonSchema, Model, ModelInfo } from "../model/model.ts";
import type { ItemOf } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import type { Gate } from "../trust/gate.ts";
import type { Changes } from "./changes.ts";
import type { Event, EventOf } from "./event.ts";
import type { KeyWatch } from "./exposure.ts";
import type { Ledger } from "./ledger.ts";
import type { Reached } from "./reached.ts";
import type { Repositories } from "./repositories.ts";

/** Outcomes that the user wants to hear of by exit code, although the run itself went to its end. */
export type FailOn = "denied" | "tool_error";

/** Everything a run needs, put together once and only read afterwards. What changes lives in what it points to. */
export type Engine = {
  readonly model: Model;
  readonly info: ModelInfo;
  readonly system: string;
  readonly tools: readonly Tool[];
  readonly gate: Gate;
  readonly ledger: Ledger;
  readonly session: Session;
  /** The surroundings, where the model has not been told of them yet. */
  readonly environment: ItemOf<"environment"> | undefined;
  /** What every call of this conversation may use. */
  readonly context: Omit<ToolContext, "call" | "signal" | "report">;
  readonly changes: Changes;
  readonly repositories: Repositories;
  /** What somebody below wants told: it is, at the next step of the run. */
  readonly notices: Event[];
  readonly reached: Reached;
  readonly keyWatch: KeyWatch;
  readonly answerSchema?: JsonSchema;
  readonly failOn: readonly FailOn[];
  /** Called for every sign of life of the model or a tool. */
  readonly heard: () => void;
};

export type Notice = EventOf<"notice">;

/** What was wanted to be said since the last time. */
export function* news({ notices }: Engine): Generator<Event, void> {
  yield* notices.splice(0);
}

/** What the first event says beyond the engine itself. */
export type Start = Omit<EventOf<"session.start">, "type">;
