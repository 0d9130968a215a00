import { KodaError } from "../errors.ts";
import { reported } from "./failure.ts";
import { isRecord, type JsonRecord, parseJson } from "./json.ts";
import type { ModelEvent, ModelRequest, Wire } from "./model.ts";
import { type Endpoint, streamFrames } from "./stream.ts";

/** A reply as a wire puts it together, frame by frame. */
export type Assembly = {
  /** What this frame adds to the reply. */
  read(frame: JsonRecord): ModelEvent[];
  /** `complete`: the terminal event was seen, though figures may follow. `over`: nothing follows. */
  readonly state: "open" | "complete" | "over";
  /** What is only known now: the calls of a wire that does not say when one is complete, and the end. */
  end(): ModelEvent[];
};

export type WireForm = {
  wire: Wire;
  body(request: ModelRequest, endpoint: Endpoint): object;
  assemble(endpoint: Endpoint): Assembly;
};

/**
 * One try of a request. Events come as many at a time as arrived together: to hand over each by itself, through every
 * layer, would cost more than to read it.
 */
export type Attempt = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<readonly ModelEvent[]>;

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
          for (const event of reply.read(decode(frame, endpoint))) events.push(event);
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
    yield [...events, ...reply.end()];
  };
}

function decode(frame: string, endpoint: Endpoint): JsonRecord {
  const value = parseJson(frame);
  const { provider, info, key } = endpoint;
  if (!isRecord(value)) {
    const message = `${provider.name} sent a frame that is not JSON: "${frame.slice(0, 100)}"`;
    throw new KodaError("stream", message, { retryable: true });
  }
  const { error } = value;
  const failed = isRecord(error) || (typeof error === "string" && error !== "");
  if (failed || value.type === "error" || value.object === "error") {
    throw reported(value, { provider, model: info.name, key });
  }
  return value;
}

function truncated({ provider }: Endpoint): KodaError {
  const message = `${provider.name} ended its stream in the middle of the reply`;
  return new KodaError("stream", message, { retryable: true });
}
