import { counted } from "../counted.ts";
import { KodaError } from "../errors.ts";
import { wireOfPath } from "./address.ts";
import type { Cassette, Exchange, RecordedRequest, RecordedResponse } from "./cassette.ts";
import type { Fetch } from "./fetch.ts";
import { parseJson, recordOf } from "../config/json.ts";
import { firstDifference, type ProjectPaths } from "./requestdiff.ts";

type ReplayOptions = {
  cwd: string;
  track?: string | undefined;
  /** A request that differs is reported to `onDivergence` and still gets the recorded response. */
  loose: boolean;
  onDivergence?: (message: string) => void;
};

/** A track of a cassette as it is played. */
export type Tape = {
  fetch: Fetch;
  /** The exchange of the next request; undefined at the end. */
  readonly next: Exchange | undefined;
};

/** Answers each request with the next recorded response of its track, offline and without a key. */
export function replayFrom(cassette: Cassette, options: ReplayOptions): Fetch {
  return openTape(cassette, options).fetch;
}

export function openTape({ header, exchanges: all }: Cassette, options: ReplayOptions): Tape {
  const { cwd, track, loose, onDivergence } = options;
  const exchanges = all.filter((exchange) => exchange.track === track);
  const whose = track === undefined ? "" : ` of the agent "${track}"`;
  let next = 0;
  const fetch: Fetch = async (url, init) => {
    const number = ++next;
    const exchange = exchanges[number - 1];
    if (exchange === undefined) {
      const there = `The cassette has ${counted(exchanges.length, "request")}${whose}`;
      throw new KodaError("replay", `${there}, and this is request ${number}`);
    }
    const places: ProjectPaths = { recorded: exchange.cwd ?? header.cwd, sent: cwd };
    const sent = { wire: wireOfPath(new URL(url).pathname) ?? "chat", body: parseJson(init.body ?? "") };
    const message = divergence(exchange.request, { sent, request: `Request ${number}${whose}`, places });
    if (message !== undefined && !loose) throw new KodaError("replay", message);
    if (message !== undefined) onDivergence?.(message);
    return answer(exchange.response);
  };
  return {
    fetch,
    get next() {
      return exchanges[next];
    },
  };
}

type Sent = { sent: Omit<RecordedRequest, "path">; request: string; places: ProjectPaths };

function divergence({ wire, body }: RecordedRequest, { sent, request, places }: Sent): string | undefined {
  const recordedFields = { wire, ...recordOf(body) };
  const difference = firstDifference(recordedFields, { wire: sent.wire, ...recordOf(sent.body) }, places);
  if (difference === undefined) return undefined;
  const { path, recorded, sent: now } = difference;
  return `${request} differs from the recorded one at ${path}: recorded ${recorded}, sent ${now}`;
}

function answer({ status, headers, frames, cut }: RecordedResponse): Response {
  if (status === 0) throw broken(cut);
  let position = 0;
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const frame = frames[position++];
        if (frame !== undefined) controller.enqueue(encoder.encode(frame));
        else if (cut === undefined) controller.close();
        else controller.error(broken(cut));
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status, headers });
}

function broken(code = "ECONNRESET"): Error {
  return Object.assign(new TypeError(code), { code });
}
