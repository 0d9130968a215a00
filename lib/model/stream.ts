import type { Wire } from "../config/config.ts";
import { maskQuery } from "../config/mask.ts";
import { formatDuration } from "../config/units.ts";
import { KodaError } from "../errors.ts";
import { modelUrl } from "./address.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { parseErrorBody, sanitize } from "./errorbody.ts";
import { connectionError, responseError, secretsOf } from "./failure.ts";
import { type Frame, FrameReader } from "./frames.ts";
import { protocolHeaders } from "./headers.ts";
import type { ApiKey } from "./key.ts";
import type { Provider } from "./providers.ts";
import { type RateLimits, rateLimitsIn } from "./ratelimits.ts";

type Listener = {
  signal: AbortSignal;
  /** Called for every chunk. */
  heard: (() => void) | undefined;
  /** Called with the provider's limits when a response tells them. */
  limits: ((limits: RateLimits) => void) | undefined;
  /** True when the rest of the stream does not matter. */
  isComplete: () => boolean;
};

/**
 * Sends a request and yields the frames of its reply, as many at a time as arrived together. Throws a KodaError when it
 * fails, and the signal's reason when it aborts. A caller that stops reading early closes the connection.
 */
export async function* streamFrames(
  wire: Wire,
  body: string,
  { endpoint, listener }: { endpoint: ModelEndpoint; listener: Listener },
): AsyncGenerator<Frame[], void> {
  const { signal } = listener;
  const leaving = new AbortController();
  // After the reply a server has only a moment to end its stream.
  const silenceMs = () => Math.min(endpoint.streamIdleMs, listener.isComplete() ? 2000 : Infinity);
  let reader: Reader | undefined;
  let started = false;
  let ended = false;
  let wordlessMs = 0;
  try {
    signal.throwIfAborted();
    const response = await withValidKey(endpoint.key, signal, async () => {
      const either = AbortSignal.any([signal, leaving.signal]);
      return await within(
        endpoint.streamIdleMs,
        post(wire, body, { endpoint, listener, signal: either }),
        endpoint.provider,
      );
    });
    started = true;
    listener.heard?.();
    const frames = new FrameReader();
    const chunks = readerOf(response);
    reader = chunks;
    while (true) {
      const since = performance.now();
      const { done, value } = await within(silenceMs(), chunks.read(), endpoint.provider);
      if (done) break;
      wordlessMs += performance.now() - since;
      listener.heard?.();
      for (let at = 0; at < value.length; at += portionBytes) {
        const complete = frames.read(value.subarray(at, at + portionBytes));
        if (complete.some(hasWords)) wordlessMs = 0;
        if (complete.length > 0) yield complete;
      }
      if (wordlessMs > longestWordlessMs(endpoint)) throw wordless(endpoint);
    }
    ended = true;
    yield frames.end();
  } catch (error) {
    ended = true;
    leaving.abort();
    signal.throwIfAborted();
    throw error instanceof KodaError ? error : connectionError(error, endpoint, { started });
  } finally {
    if (reader !== undefined && listener.isComplete()) void drain(reader, leaving);
    else if (!ended) leaving.abort();
  }
}

/**
 * A slow reader gets half a megabyte at once. Its frames are yielded in portions, so that few of them are alive at a
 * time: this saves 5 MB of 75 in a reply of 4 MB.
 */
const portionBytes = 32 * 1024;

/** Comments are no frames. */
function hasWords(frame: Frame): boolean {
  return !/^\{\s*"type":\s*"ping"/.test(frame);
}

/** A model may think for long, and all that comes is signs of life: of the provider, or of a proxy that has lost it. */
function longestWordlessMs({ streamIdleMs }: ModelEndpoint): number {
  return 6 * streamIdleMs;
}

function wordless(endpoint: ModelEndpoint): KodaError {
  const message = `${endpoint.provider.name} sent only signs of life for ${formatDuration(longestWordlessMs(endpoint))}`;
  return new KodaError("silence", message, { retryable: true, maxRetries: 1 });
}

/** Renews a key of `api_key_command` before sending when it has expired, and once more when it is refused. */
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

/** The response, if it is a stream of events or a whole JSON reply; anything else is thrown as an error. */
async function post(
  wire: Wire,
  body: string,
  { endpoint, listener, signal }: { endpoint: ModelEndpoint; listener: Listener; signal: AbortSignal },
): Promise<Response> {
  const { provider, fetch, userAgent } = endpoint;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "text/event-stream",
    // A compressor buffers, so a compressed stream would come in lumps.
    "accept-encoding": "identity",
    "user-agent": userAgent,
    ...protocolHeaders(wire, endpoint),
    ...endpoint.headers?.values,
  };

  const url = modelUrl(wire, provider, endpoint.info.name);
  const response = await fetch(url, { method: "POST", headers, body, signal });
  const { ok, status } = response;
  const error = ok ? undefined : parseErrorBody(await response.text());
  const told = new Map([...response.headers, ...(error?.headers ?? [])]);
  const limits = rateLimitsIn(told, Date.now());
  if (limits !== undefined) listener.limits?.(limits);
  if (error !== undefined) throw responseError({ status, headers: told }, error, endpoint);
  const type = response.headers.get("content-type") ?? "";
  if (/html/i.test(type)) throw notAStream(await response.text(), { type, url, endpoint });
  return /json/i.test(type) ? asStream(await response.text()) : response;
}

/** A JSON body as one frame: the reply of a server that does not stream, or an error with status 200. */
function asStream(json: string): Response {
  return new Response(`data: ${json.replace(/\s*[\r\n]\s*/g, " ")}\n\n`);
}

function notAStream(body: string, { type, url, endpoint }: { type: string; url: string; endpoint: ModelEndpoint }) {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1] ?? "";
  const page = title === "" ? "" : ` ("${sanitize(title, secretsOf(endpoint))}")`;
  return new KodaError(
    "request",
    `${maskQuery(url)} sent ${type}${page} instead of a model's reply: check the base URL`,
  );
}

type Reader = { read(): Promise<{ done: false; value: Uint8Array } | { done: true; value?: unknown }> };

function readerOf(response: Response): Reader {
  return (response.body ?? new Blob().stream()).getReader();
}

/** The result of `work`, or an error when it takes longer than the provider may be silent. */
async function within<T>(limitMs: number, work: Promise<T>, { name }: Provider): Promise<T> {
  const silence = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `${name} sent nothing for ${formatDuration(limitMs)}`;
    silence.reject(new KodaError("silence", message, { retryable: true }));
  }, limitMs);
  try {
    return await Promise.race([work, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads the little that follows a complete reply, so that the next request can reuse the connection. It is closed when
 * the server does not end the stream in time.
 */
async function drain(reader: Reader, leaving: AbortController): Promise<void> {
  const timer = setTimeout(() => leaving.abort(), 250);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The reply is complete, or its failure is known: the end of the connection does not matter.
  } finally {
    clearTimeout(timer);
  }
}
