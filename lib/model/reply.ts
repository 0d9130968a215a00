import { isRecord, type JsonRecord, parseJson } from "../config/json.ts";
import type { Wire } from "../config/config.ts";
import { type ErrorCode, KodaError } from "../errors.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { brokenStream, streamError } from "./failure.ts";
import type { Model, ModelEvent, ModelRequest } from "./model.ts";
import { streamFrames } from "./stream.ts";

/** Turns the frames of one reply into events. */
export type ReplyParser = {
  /** Appends the events of a frame. */
  read(frame: JsonRecord, events: ModelEvent[]): void;
  /** `complete`: the terminal event was seen, but usage may follow. `over`: nothing follows. */
  readonly state: "open" | "complete" | "over";
  /** Appends the last events: `end`, and the calls of a wire that does not say when a call is complete. */
  end(events: ModelEvent[]): void;
};

type WireFormat = {
  wire: Wire;
  /** Writes the bodies of a conversation's requests. */
  bodies(endpoint: ModelEndpoint): (request: ModelRequest) => string;
  parser(): ReplyParser;
};

/** A model behind one wire, without retries. A reply without its terminal event is an error, however it stopped. */
export function wireModel({ wire, bodies, parser }: WireFormat, endpoint: ModelEndpoint): Model {
  const bodyOf = bodies(endpoint);
  return async function* (request, signal) {
    const reply = parser();
    const { heard, limits } = request;
    const listener = { signal, heard, limits, isComplete: () => reply.state !== "open" };
    let events: ModelEvent[] = [];
    let begun = false;

    try {
      receiving: for await (const frames of streamFrames(wire, bodyOf(request), { endpoint, listener })) {
        for (const frame of frames) {
          if (frame === "[DONE]") break receiving;
          reply.read(decode(frame, endpoint), events);
          if (reply.state === "over") break receiving;
        }
        begun ||= events.length > 0;
        yield events;
        events = [];
      }
    } catch (error) {
      if (reply.state === "open") {
        yield events;
        throw begun || events.length > 0 ? afterBeginning(error) : error;
      }
    }

    signal.throwIfAborted();
    if (reply.state === "open")
      throw brokenStream(`${endpoint.provider.name} ended its stream in the middle of the reply`);
    reply.end(events);
    yield events;
  };
}

/**
 * A provider that has begun its reply has accepted the request. What it says against the request then is no reason to
 * leave something out: the reply is void, and asked for again.
 */
function afterBeginning(error: unknown): unknown {
  const isAboutRequest = error instanceof KodaError && requestCodes.has(error.code);
  return isAboutRequest ? brokenStream(error.message) : error;
}

const requestCodes: ReadonlySet<ErrorCode> = new Set(["request", "unsupported_parameter", "images"]);

function decode(frame: string, endpoint: ModelEndpoint): JsonRecord {
  const value = parseJson(frame);
  if (!isRecord(value))
    throw brokenStream(`${endpoint.provider.name} sent a frame that is not JSON: "${frame.slice(0, 100)}"`);
  if (isFailure(value)) throw streamError(value, endpoint);
  return value;
}

function isFailure({ error, type, object }: JsonRecord): boolean {
  return type === "error" || object === "error" || isRecord(error) || (typeof error === "string" && error !== "");
}
