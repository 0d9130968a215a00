import { closeSync, constants, fchmodSync, openSync, writeSync } from "node:fs";
import { basename, dirname } from "node:path";
import { errnoOf, KodaError, messageOf, reasonOf } from "../errors.ts";
import { type OutputPlace, outputPlaceOf } from "../files/outputplace.ts";
import { HeldDirectory } from "../files/held.ts";
import { beginFile } from "../files/save.ts";
import { isNamedSecret, shortestSecret } from "../shell/env.ts";
import { wireOfPath } from "./address.ts";
import type { Exchange, Header, RecordedResponse } from "./cassette.ts";
import type { Fetch } from "./fetch.ts";
import { parseJson } from "../config/json.ts";

/** One conversation's part of a recording. */
export type Track = {
  /** Absent for the first conversation of a process. */
  name?: string | undefined;
  cwd: string;
  /** Values that must never be in the file, such as the provider's key. */
  secrets: readonly string[];
  fetch: Fetch;
};

/**
 * Writes model traffic to a new cassette, which replaces an old one with the first reply: a run that gets none loses
 * nothing. Traffic that cannot be written ends the run: the user asked for it.
 */
export class Recorder {
  readonly startedAt: number = Date.now();
  readonly #file: string;
  readonly #place: OutputPlace;
  readonly #cwd: string | undefined;
  #fd: number | undefined;
  /** The header and failed requests, until there is a reply: without one an old cassette stays. */
  #waiting: string[] = [];
  #secrets: string[] = [];
  readonly #answers = new Map<string | undefined, readonly string[]>();
  readonly #queues = new Set<Taking[]>();
  #failure: KodaError | undefined;

  /** `writable`: the directories below which commands may write. */
  constructor(file: string, header: Omit<Header, "koda_cassette" | "recorded_at">, writable: readonly string[]) {
    this.#file = file;
    this.#place = this.#try(() => outputPlaceOf(file, writable));
    this.#cwd = header.cwd;
    this.#fd = this.#try(() => openAtOnce(this.#place));
    const { version, ...recorded } = header;
    const recordedAt = new Date(this.startedAt).toISOString();
    this.#waiting.push(this.#lineOf({ koda_cassette: 1, version, recorded_at: recordedAt, ...recorded }));
    if (this.#fd !== undefined) this.#flush();
  }

  /** The same fetch, with all that goes through it recorded. */
  record({ name, cwd, secrets, fetch }: Track): Fetch {
    const queue: Taking[] = [];
    const origin = { ...(name !== undefined && { track: name }), ...(cwd !== this.#cwd && { cwd }) };
    for (const secret of secrets) this.hide(secret);
    return async (url, init) => {
      const path = new URL(url).pathname;
      const wire = wireOfPath(path);
      if (wire === undefined) return fetch(url, init);
      // A key that was renewed is known by the request alone.
      for (const name of ["authorization", "x-api-key"]) this.hide(init.headers[name]?.replace(/^Bearer /, "") ?? "");
      const request = { wire, path, body: parseJson(this.#clean(init.body ?? "")) ?? {} };
      const answers = this.#answers.get(name);
      this.#answers.delete(name);
      const taking = this.#take({ ...origin, ...(answers && { answers }), request }, queue);
      try {
        return taking.listen(await fetch(url, init));
      } catch (error) {
        taking.end(errnoOf(error) ?? messageOf(error));
        throw error;
      }
    };
  }

  /** Writes incomplete exchanges as far as they came; throws when anything could not be written. */
  close(): void {
    try {
      for (const taking of [...this.#queues].flat()) taking.end("ECONNRESET");
      const isNew = this.#place.kind === "file" && this.#place.mode === undefined;
      if (isNew && this.#fd === undefined) this.#flush();
    } finally {
      if (this.#fd !== undefined) closeSync(this.#fd);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Goes with the track's next request. */
  noteAnswers(track: string | undefined, agents: readonly string[]): void {
    this.#answers.set(track, [...(this.#answers.get(track) ?? []), ...agents]);
  }

  /** From now on. */
  hide(secret: string): void {
    if (secret.length >= shortestSecret && !this.#secrets.includes(secret)) this.#secrets.push(...spellings(secret));
  }

  #take(asked: Omit<Exchange, "response">, queue: Taking[]): Taking {
    if (this.#failure !== undefined) throw this.#failure;
    const taking = new Taking(asked, () => this.#writeEnded(queue));
    this.#queues.add(queue);
    queue.push(taking);
    return taking;
  }

  #clean(text: string): string {
    return this.#secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, "[key]"), text);
  }

  #add(exchange: Exchange): void {
    this.#waiting.push(this.#lineOf(exchange));
    const isReply = exchange.response.status >= 200 && exchange.response.status < 300;
    if (this.#fd !== undefined || isReply) this.#flush();
  }

  #lineOf(value: Header | Exchange): string {
    return `${this.#clean(JSON.stringify(value))}\n`;
  }

  #flush(): void {
    const bytes = Buffer.from(this.#waiting.splice(0).join(""));
    this.#try(() => {
      if (this.#fd === undefined) this.#fd = beginCassette(this.#place, bytes);
      else writeWhole(this.#fd, bytes);
    });
  }

  /** In the order of a track's requests: a stream may be read to its end while the next request is out. */
  #writeEnded(queue: Taking[]): void {
    for (let [first] = queue; first?.ended; [first] = queue) {
      queue.shift();
      this.#add(first.exchange());
    }
  }

  #try<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#failure = new KodaError("output", `Cannot write the cassette "${this.#file}": ${reasonOf(error)}`, {
        cause: error,
      });
      throw this.#failure;
    }
  }
}

/** The values of variables with the name of a secret. */
export function secretsIn(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value && value.length >= shortestSecret && isNamedSecret(name) ? [value] : [],
  );
}

/** The recorded headers. All others are left out, since any of them may hold a key. */
const keptHeaders = /^(content-type|retry-after(-ms)?|(x-|anthropic-)?ratelimit-.*|x-codex-.*)$/;

/** A pipe or a device is opened at once: it has nothing to lose, and a mistake shows. */
function openAtOnce(place: OutputPlace): number | undefined {
  switch (place.kind) {
    case "file":
      return undefined;
    case "descriptor":
      return openSync(`/proc/self/fd/${place.fd}`, constants.O_WRONLY | constants.O_APPEND);
    case "device": {
      const { O_WRONLY, O_NOCTTY, O_NOFOLLOW } = constants;
      return openSync(place.path, O_WRONLY | O_NOCTTY | (place.isOwn ? 0 : O_NOFOLLOW));
    }
    default:
      return place satisfies never;
  }
}

function beginCassette(place: OutputPlace, bytes: Buffer): number {
  if (place.kind !== "file") throw new Error(`a ${place.kind} was not opened`);
  using directory = HeldDirectory.open(dirname(place.path));
  const { mode = 0o600 } = place;
  const finish = (descriptor: number) => fchmodSync(descriptor, mode);
  return beginFile({ directory, name: basename(place.path) }, bytes, { finish });
}

/** A full disk accepts the beginning of a line, and only the next call fails. */
function writeWhole(fd: number, bytes: Buffer): void {
  for (let sent = 0; sent < bytes.length;) sent += writeSync(fd, bytes, sent);
}

/** A secret in a text, in that text's JSON, and so on: a call's arguments are JSON in a frame in a line. */
function spellings(secret: string): string[] {
  const forms = [secret];
  for (let depth = 0; depth < 3; depth++) forms.unshift(JSON.stringify(forms[0]).slice(1, -1));
  return [...new Set(forms)];
}

/** An exchange in progress. */
class Taking {
  ended = false;
  #asked: Omit<Exchange, "response">;
  #onEnd: () => void;
  #response: RecordedResponse = { status: 0, headers: {}, frames: [] };
  #text = "";
  #decoder = new TextDecoder();

  constructor(asked: Omit<Exchange, "response">, onEnd: () => void) {
    this.#asked = asked;
    this.#onEnd = onEnd;
  }

  /** The same response, with a body that is recorded as it is read. */
  listen(response: Response): Response {
    const headers = [...response.headers].filter(([name]) => keptHeaders.test(name));
    this.#response = { status: response.status, headers: Object.fromEntries(headers), frames: [] };
    const reader = (response.body ?? new Blob().stream()).getReader();
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await reader.read();
            if (done) {
              this.end();
              return controller.close();
            }
            this.#text += this.#decoder.decode(value, { stream: true });
            controller.enqueue(value);
          } catch (error) {
            this.end(errnoOf(error) ?? messageOf(error));
            controller.error(error);
          }
        },
        cancel: (reason) => {
          this.end("ECONNRESET");
          return reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { status: response.status, headers: response.headers });
  }

  end(cut?: string): void {
    if (this.ended) return;
    this.ended = true;
    if (cut !== undefined) this.#response.cut = cut;
    this.#onEnd();
  }

  exchange(): Exchange {
    const frames = this.#text.match(/[\s\S]*?(?:\r\n\r\n|\n\n|\r\r)|[\s\S]+$/g) ?? [];
    return { ...this.#asked, response: { ...this.#response, frames: [...frames] } };
  }
}
