import { KodaError } from "../errors.ts";
import { reported } from "./failure.ts";
import { isRecord, type JsonRecord, parseJson } from "../config/json.ts";
import type { Model, ModelEvent, ModelRequest, Wire } from "./model.ts";
import { type Endpoint, originOf, streamFrames } from "./stream.ts";

/** A reply as a wire puts it together, frame by frame. */
export type Assembly = {
  /** Appends what this frame adds to the reply. */
  read(frame: JsonRecord, events: ModelEvent[]): void;
  /** `complete`: the terminal event was seen, though figures may follow. `over`: nothing follows. */
  readonly state: "open" | "complete" | "over";
  /** What is only known now: the calls of a wire that does not say when one is complete, and the end. */
  end(events: ModelEvent[]): void;
};

export type WireForm = {
  wire: Wire;
  body(request: ModelRequest, endpoint: Endpoint): object;
  assemble(endpoint: Endpoint): Assembly;
};

/** One try of a request. */
export type Attempt = Model;

/** Speaks to a model in one wire's form. A reply without its terminal event is an error, however it stopped. */
export function speak({ wire, body, assemble }: WireForm, endpoint: Endpoint): Attempt {
  return async function* (request, signal) {
    const reply = assemble(endpoint);
    const listener = { signal, heard: request.heard, isComplete: () => reply.state !== "open" };
    let events: ModelEvent[] = [];

    try {
      receiving: for await (const frames of streamFrames(wire, body(request, endpoint), { endpoint, listener })) {
        for (const frame of frames) {
          if (frame === "[DONE]") break receiving;
          reply.read(decode(frame, endpoint), events);
          if (reply.state === "over") break receiving;
        }
        yield events;
        events = [];
      }
    } catch (error) {
      if (reply.state === "open") {
        yield events;
        throw error;
      }
    }

    signal.throwIfAborted();
    if (reply.state === "open") throw truncated(endpoint);
    reply.end(events);
    yield events;
  };
}

function decode(frame: string, endpoint: Endpoint): JsonRecord {
  const value = parseJson(frame);
  if (!isRecord(value)) throw unreadable(frame, endpoint);
  if (isFailure(value)) throw reported(value, originOf(endpoint));
  return value;
}

function isFailure({ error, type, object }: JsonRecord): boolean {
  return type === "error" || object === "error" || isRecord(error) || (typeof error === "string" && error !== "");
}

function unreadable(frame: string, { provider }: Endpoint): KodaError {
  const message = `${provider.name} sent a frame that is not JSON: "${frame.slice(0, 100)}"`;
  return new KodaError("stream", message, { retryable: true });
}

function truncated({ provider }: Endpoint): KodaError {
  const message = `${provider.name} ended its stream in the middle of the reply`;
  return new KodaError("stream", message, { retryable: true });
}
