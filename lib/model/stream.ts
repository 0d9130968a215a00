import { maskQuery } from "../config/mask.ts";
import { KodaError } from "../errors.ts";
import { type Origin, refused, secretsOf, unconnected } from "./failure.ts";
import type { Fetch } from "./fetch.ts";
import { type Frame, FrameReader } from "./frames.ts";
import type { ExtraHeaders } from "./headers.ts";
import type { ModelInfo, ModelSettings, Wire } from "./model.ts";
import { addressOf, type Environment } from "./address.ts";
import type { ApiKey, Provider } from "./providers.ts";
import { trimmed } from "./said.ts";

/** One model at the end of one connection: all that a wire needs to know. */
export type Endpoint = {
  provider: Provider;
  info: ModelInfo;
  key?: ApiKey;
  headers?: ExtraHeaders;
  settings: ModelSettings;
  fetch: Fetch;
  /** The environment in which `fetch` looks for a proxy. */
  env?: Environment;
  /** How long the provider may be silent, before its headers and within its stream. */
  streamIdleMs: number;
  userAgent: string;
};

export function originOf({ provider, info, key, headers, env = {} }: Endpoint): Origin {
  return { provider, model: info.name, key, headers, env };
}

export type Listener = {
  signal: AbortSignal;
  /** Called for every chunk that arrives. */
  heard: (() => void) | undefined;
  /** Whether what follows does not matter any more. */
  isComplete: () => boolean;
};

/**
 * Sends a request and gives the frames of its answer, as many at a time as arrived together. Throws a KodaError for
 * whatever goes wrong on the way, and the signal's reason when it aborts. Who stops reading early closes the connection.
 */
export async function* streamFrames(
  wire: Wire,
  body: object,
  { endpoint, listener }: { endpoint: Endpoint; listener: Listener },
): AsyncGenerator<Frame[], void> {
  const { signal } = listener;
  const leaving = new AbortController();
  const origin = originOf(endpoint);
  // A server that neither ends its stream nor goes on after the reply is not worth five minutes.
  const patience = () => Math.min(endpoint.streamIdleMs, listener.isComplete() ? 2000 : Infinity);
  let reader: Reader | undefined;
  let started = false;
  let ended = false;
  try {
    signal.throwIfAborted();
    const response = await withValidKey(endpoint.key, signal, async () => {
      const asked = ask(wire, body, { endpoint, origin, signal: AbortSignal.any([signal, leaving.signal]) });
      return await within(endpoint.streamIdleMs, asked, origin);
    });
    started = true;
    listener.heard?.();
    const frames = new FrameReader();
    const chunks = readerOf(response);
    reader = chunks;
    while (true) {
      const { done, value } = await within(patience(), chunks.read(), origin);
      if (done) break;
      listener.heard?.();
      for (let at = 0; at < value.length; at += portionBytes) {
        const complete = frames.read(value.subarray(at, at + portionBytes));
        if (complete.length > 0) yield complete;
      }
    }
    ended = true;
    yield frames.end();
  } catch (error) {
    ended = true;
    leaving.abort();
    signal.throwIfAborted();
    throw error instanceof KodaError ? error : unconnected(error, origin, { started });
  } finally {
    if (reader !== undefined && listener.isComplete()) void letGo(reader, leaving);
    else if (!ended) leaving.abort();
  }
}

/**
 * Who is slower than the provider gets half a megabyte at once. Its frames are handed on in portions, so that few of
 * them live at a time: that is worth 5 MB of 75 in a reply of 4 MB.
 */
const portionBytes = 32 * 1024;

/** Sends with a key that has not expired; a key that is refused is renewed once, where a command prints it. */
async function withValidKey<T>(key: ApiKey | undefined, signal: AbortSignal, send: () => Promise<T>): Promise<T> {
  if (key?.renew === undefined) return await send();
  if (key.isExpired?.()) await key.renew(signal);
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof KodaError) || error.httpStatus !== 401) throw error;
    await key.renew(signal);
    return await send();
  }
}

/** The response, when it is a stream of events; what else a server may answer is thrown as what it means. */
async function ask(
  wire: Wire,
  body: object,
  { endpoint, origin, signal }: { endpoint: Endpoint; origin: Origin; signal: AbortSignal },
): Promise<Response> {
  const { provider, key, fetch, userAgent } = endpoint;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "text/event-stream",
    // A compressed stream comes in lumps: the compressor waits for more before it lets go.
    "accept-encoding": "identity",
    "user-agent": userAgent,
    ...(key !== undefined && { authorization: `Bearer ${key.value}` }),
    ...endpoint.headers?.values,
  };

  const url = addressOf(provider, paths[wire]);
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (!response.ok) throw refused(response, await response.text(), origin);
  const type = response.headers.get("content-type") ?? "";
  if (/html/i.test(type)) throw notAStream(await response.text(), { type, url, origin });
  return /json/i.test(type) ? asStream(await response.text()) : response;
}

const paths: Record<Wire, string> = { chat: "/chat/completions", responses: "/responses" };

/** A whole JSON answer, from a server that does not stream or that reports an error with status 200: one frame. */
function asStream(json: string): Response {
  return new Response(`data: ${json.replace(/\s*[\r\n]\s*/g, " ")}\n\n`);
}

function notAStream(body: string, { type, url, origin }: { type: string; url: string; origin: Origin }): KodaError {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1] ?? "";
  const page = title === "" ? "" : ` ("${trimmed(title, secretsOf(origin))}")`;
  return new KodaError(
    "request",
    `${maskQuery(url)} answered with ${type}${page}, not with a model's reply: check the base URL`,
  );
}

type Reader = { read(): Promise<{ done: false; value: Uint8Array } | { done: true; value?: unknown }> };

function readerOf(response: Response): Reader {
  return (response.body ?? new Blob().stream()).getReader();
}

/** The work, or an error when it takes longer than the provider may be silent. */
async function within<T>(limit: number, work: Promise<T>, { provider }: Origin): Promise<T> {
  const silence = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `${provider.name} sent nothing for ${limit / 1000} s`;
    silence.reject(new KodaError("silence", message, { retryable: true }));
  }, limit);
  try {
    return await Promise.race([work, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A stream whose reply is complete has hardly anything left. Reading it to its end gives the connection back for the
 * next request; a server that does not end it in time loses the connection.
 */
async function letGo(reader: Reader, leaving: AbortController): Promise<void> {
  const timer = setTimeout(() => leaving.abort(), 250);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The reply was complete, or its failure is already told: how the connection ends makes no difference any more.
  } finally {
    clearTimeout(timer);
  }
}
