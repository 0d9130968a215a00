import type { IncomingMessage } from "node:http";
import { Countdown } from "../../async/countdown.ts";
import { quoted } from "../../egress/rules/host.ts";
import type { WayOut } from "../../egress/wayout.ts";
import { readBody, type Body } from "./body.ts";
import { connectForUrl } from "./connect.ts";
import { requestPage } from "./exchange.ts";
import { FetchFailure } from "./failure.ts";
import { formatUrl, parseUrl, resolveReference, type WebUrl } from "./url.ts";

export type FetchLimits = { totalMs: number; bodyBytes: number; redirects: number };

const standardLimits: FetchLimits = { totalMs: 15_000, bodyBytes: 1024 * 1024, redirects: 5 };

/** The response at the end of a URL's redirects, whatever its status is. */
export type FetchedPage = Body & {
  url: WebUrl;
  status: number;
  /** The Content-Type as it was sent. */
  type: string | undefined;
};

type FetchOptions = { egress: WayOut; signal: AbortSignal; limits?: Partial<FetchLimits> };

/** Fetches a page. Every redirect is judged like the first request. Throws a `FetchFailure`. */
export async function fetchPage(
  first: WebUrl,
  { egress, signal, limits: changedLimits }: FetchOptions,
): Promise<FetchedPage> {
  const limits = { ...standardLimits, ...changedLimits };
  // A question to the user takes as long as it takes.
  using clock = new Countdown(limits.totalMs);
  const { signal: late } = clock;
  const { ask } = egress;
  const asking: WayOut = { ...egress, ask: ask && ((question) => clock.without(() => ask(question))) };
  const whyLate = `it timed out after ${limits.totalMs / 1000} s`;
  const visit = { egress: asking, signal: AbortSignal.any([signal, late]), limit: limits.bodyBytes, whyLate };
  let url = first;
  try {
    for (let redirects = 0; redirects <= limits.redirects; redirects++) {
      const found = await look(url, visit);
      signal.throwIfAborted();
      if ("bytes" in found) return found;
      url = found;
    }
    throw new FetchFailure(`there are more than ${limits.redirects} redirects`);
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted) throw new FetchFailure(onTheWay(whyLate, first, url), { cause: error });
    if (!(error instanceof FetchFailure)) throw error;
    throw new FetchFailure(onTheWay(error.message, first, url), { denied: error.denied, cause: error });
  }
}

type Visit = Pick<FetchOptions, "egress" | "signal"> & { limit: number; whyLate: string };

/** One URL: its page, or where it says that the page is. */
async function look(url: WebUrl, { egress, ...reading }: Visit): Promise<FetchedPage | WebUrl> {
  const connection = await connectForUrl(url, egress, { signal: reading.signal });
  try {
    const reply = await requestPage(url, connection, reading.signal);
    const { statusCode: status = 0, headers } = reply;
    const next = redirectIn(reply, url);
    if (next !== undefined) return next;
    return { url, status, type: headers["content-type"], ...(await readBody(reply, reading)) };
  } finally {
    connection.socket.destroy();
  }
}

const redirects: readonly number[] = [301, 302, 303, 307, 308];

function redirectIn({ statusCode = 0, headers: { location } }: IncomingMessage, from: WebUrl): WebUrl | undefined {
  if (!redirects.includes(statusCode) || location === undefined) return undefined;
  const text = resolveReference(bytesEncoded(location), from);
  const next = parseUrl(text);
  if ("fault" in next) throw new FetchFailure(`it redirects, and ${next.fault}`);
  if (from.scheme === "https" && next.scheme === "http") {
    throw new FetchFailure(`it redirects from https to ${quoted(text)}, which anyone on the way could read and change`);
  }
  return next;
}

/**
 * Headers are bytes, of which each is a character here; in a path they stay those bytes, in a host they are refused.
 */
function bytesEncoded(header: string): string {
  return header.replace(/[^\0-\x7f]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`);
}

function onTheWay(why: string, first: WebUrl, last: WebUrl): string {
  return first === last ? why : `after a redirect to ${quoted(formatUrl(last))}: ${why}`;
}
