import { Agent, type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import type { WayOut } from "../egress/wayout.ts";
import { KodaError } from "../errors.ts";
import { connectForUrl } from "../tools/web/connect.ts";
import { FetchFailure } from "../tools/web/failure.ts";
import { formatUrl, hostOf, parseUrl, resolveReference, type WebUrl } from "../tools/web/url.ts";
import type { FetchLike } from "./client.ts";
import type { ServerHeaders } from "./headers.ts";
import { mostMessageBytes } from "./limits.ts";
import { collectAfter, newThrottle } from "./throttle.ts";
import { reaching } from "./reach.ts";

/** The user has named the server, not a file of the project. */
type ServerReach = {
  egress: WayOut;
  isUsers: boolean;
  /** Called with the reason when only a new connection helps. */
  onBroken: (reason: string) => void;
};

type ServerFetch = FetchLike & Disposable;

/**
 * A fetch for one server, over connections that the rules for the network allow and that are kept between requests.
 * The platform's fetch looks names up by itself, after they were judged.
 */
export function serverFetch({ egress, isUsers, onBroken }: ServerReach, headers: ServerHeaders): ServerFetch {
  const agents = new Map<string, Agent>();
  const agentFor = (url: WebUrl) => {
    const key = `${url.scheme}://${url.target.host.text}:${url.target.port}`;
    const agent = agents.get(key) ?? new CheckedAgent(url, isUsers ? reaching(url.target, egress) : egress);
    agents.set(key, agent);
    return agent;
  };
  let unanswered = 0;
  const ask = async (url: WebUrl, init: RequestInit) => {
    if (unanswered >= mostUnanswered) throw new Error(`it has left ${mostUnanswered} requests unanswered`);
    unanswered++;
    try {
      const own = new Headers(init.headers);
      for (const [name, value] of Object.entries(await headers.current())) own.set(name, value);
      return await exchange(url, { ...init, headers: own }, { agent: agentFor(url), onBroken });
    } finally {
      unanswered--;
    }
  };
  const signedIn = async (url: WebUrl, init: RequestInit) => {
    const response = await ask(url, init);
    if (response.status !== 401 || headers.renew === undefined) return response;
    await response.body?.cancel();
    await headers.renew();
    return await ask(url, init);
  };
  const fetch = async (given: string | URL, init: RequestInit = {}) => {
    let url = serverUrl(String(given));
    for (let redirects = 0; ; redirects++) {
      const response = await signedIn(url, init);
      if (response.status === 401) throw new KodaError("config", headers.refusal);
      if (response.status === 404 && init.method === "POST" && new Headers(init.headers).has("mcp-session-id")) {
        onBroken(forgotten);
        throw new Error(forgotten);
      }
      const next = redirectOf(response, url);
      if (next === undefined) return response;
      await response.body?.cancel();
      if (redirects === mostRedirects) throw new Error(`it redirects more than ${mostRedirects} times`);
      url = next;
    }
  };
  return Object.assign(fetch, {
    [Symbol.dispose]() {
      for (const agent of agents.values()) agent.destroy();
    },
  });
}

const forgotten = "it has forgotten the session (HTTP 404); koda connects to it again";

/** More than there are calls at a time. A server that asks without a pause makes koda send an answer to each. */
const mostUnanswered = 64;

function serverUrl(text: string): WebUrl {
  const url = parseUrl(text);
  if ("fault" in url) throw new KodaError("config", url.fault);
  return url;
}

const mostRedirects = 5;

/** Only within the same origin, since the headers are for this server, and only where the request stays the same. */
function redirectOf({ status, headers }: Response, from: WebUrl): WebUrl | undefined {
  const location = headers.get("location");
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return undefined;
  const to = serverUrl(resolveReference(location, from));
  if (to.scheme === from.scheme && hostOf(to) === hostOf(from) && status >= 307) return to;
  const [address = ""] = formatUrl(to).split("?");
  throw new KodaError("config", `it redirects to "${address}" (HTTP ${status}): put that address into its "url"`);
}

/** Connects where the rules allow it; judged again for each new connection. */
class CheckedAgent extends Agent {
  readonly #url: WebUrl;
  readonly #egress: WayOut;

  constructor(url: WebUrl, egress: WayOut) {
    super({ keepAlive: true });
    this.#url = url;
    this.#egress = egress;
  }

  override createConnection(_: unknown, done: (error: Error | null, socket: Duplex) => void): undefined {
    void this.#connect(done);
  }

  async #connect(done: (error: Error | null, socket: Duplex) => void): Promise<void> {
    const options = { signal: AbortSignal.timeout(connectMs), tunnel: true };
    try {
      const { socket } = await connectForUrl(this.#url, this.#egress, options);
      done(null, socket);
    } catch (error) {
      const isDenied = error instanceof FetchFailure && error.denied;
      // The type wants a socket beside the error.
      (done as (error: unknown) => void)(isDenied ? new KodaError("config", error.message) : error);
    }
  }
}

const connectMs = 30_000;

type Exchange = Pick<ServerReach, "onBroken"> & { agent: Agent };

async function exchange(url: WebUrl, init: RequestInit, { agent, onBroken }: Exchange): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const body = init.body === undefined || init.body === null ? undefined : String(init.body);
  const { host, port } = { host: url.target.host.text, port: url.target.port };
  const sent = request({
    agent,
    host,
    port,
    method: init.method ?? "GET",
    path: url.path,
    headers: {
      ...Object.fromEntries(new Headers(init.headers)),
      ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
    },
    ...(init.signal && { signal: init.signal }),
  });
  sent.once("response", resolve);
  sent.on("error", reject);
  let interim = 0;
  sent.on("information", () => {
    if (++interim > mostInterim) sent.destroy(new Error(`it sent more than ${mostInterim} interim responses`));
  });
  sent.end(body);
  const reply = await promise;
  const { statusCode: status = 502, headers } = reply;
  const hasBody = ![101, 204, 205, 304].includes(status);
  if (!hasBody) reply.resume();
  return new Response(hasBody ? bounded(reply, onBroken) : null, { status, headers: headersOf(headers) });
}

/** Responses before the response, with a status below 200. */
const mostInterim = 100;

function headersOf(headers: IncomingMessage["headers"]): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) result.append(name, one);
  return result;
}

/**
 * A body whose events, or which as a whole, are no longer than a message may be, read no faster than the messages of a
 * program.
 */
function bounded(reply: IncomingMessage, onBroken: ServerReach["onBroken"]): ReadableStream<Uint8Array> {
  const isStream = reply.headers["content-type"]?.startsWith("text/event-stream") === true;
  const pieces: AsyncIterator<Buffer> = reply[Symbol.asyncIterator]();
  const measure = isStream ? eventMeter() : wholeMeter();
  const throttle = newThrottle();
  // After a cancellation nobody listens any more.
  reply.on("error", () => undefined);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value: piece, done } = await pieces.next();
      if (done === true) return controller.close();
      const { longest, ended } = measure(piece);
      if (longest > mostMessageBytes) {
        reply.destroy();
        // The library goes on waiting for what a broken stream of events may still bring.
        if (isStream) onBroken(tooLong);
        throw new Error(tooLong);
      }
      collectAfter(piece.length, longest);
      await throttle(piece.length + ended * eventBytes);
      controller.enqueue(piece);
    },
    cancel: () => void reply.destroy(),
  });
}

const tooLong = `it sent a message of more than ${mostMessageBytes / 2 ** 20} MiB`;

/** The length of the longest message so far that is not yet over, and how many have ended in the piece. */
type Meter = (piece: Buffer) => { longest: number; ended: number };

function wholeMeter(): Meter {
  let length = 0;
  return (piece) => ({ longest: (length += piece.length), ended: 0 });
}

/** An event is all of its lines up to an empty one: the library keeps them until then. */
function eventMeter(): Meter {
  let [length, lineLength] = [0, 0];
  return (piece) => {
    let [longest, ended] = [0, 0];
    for (const byte of piece) {
      longest = Math.max(longest, ++length);
      if (byte === newline && lineLength === 0) [length, ended] = [0, ended + 1];
      if (byte === newline) lineLength = 0;
      else if (byte !== carriageReturn) lineLength++;
    }
    return { longest, ended };
  };
}

const newline = 10;
const carriageReturn = 13;

/** The work of one event, as so many bytes: the answer to a server's request is a request of its own. */
const eventBytes = 16 * 2 ** 10;
