import { closeSync, openSync, writeSync } from "node:fs";
import { errnoOf, KodaError, messageOf, reasonOf } from "../errors.ts";
import { isNamedSecret, shortestSecret } from "../shell/env.ts";
import { type Exchange, type Header, type RecordedResponse, wireOfPath } from "./cassette.ts";
import { type Fetch, platformFetch } from "./fetch.ts";
import { parseJson } from "../config/json.ts";

export type RecorderOptions = {
  version: string;
  provider: string;
  model: string;
  cwd: string;
  /** Values that must never be in the file, such as the provider's key. */
  secrets: readonly string[];
  fetch?: Fetch;
};

export type Recorder = {
  fetch: Fetch;
  /** Writes incomplete exchanges as far as they came; throws when anything could not be written. */
  close(): void;
};

/** Records everything that goes through `fetch` in a new cassette. A failed write ends the run: the user asked for it. */
export function recordTo(file: string, options: RecorderOptions): Recorder {
  const tape = new Tape(file, options.secrets);
  const { version, provider, model, cwd, fetch = platformFetch } = options;
  const header: Header = { koda_cassette: 1, version, recorded_at: new Date().toISOString(), provider, model, cwd };
  tape.write(header);

  const recorded: Fetch = async (url, init) => {
    const path = new URL(url).pathname;
    const wire = wireOfPath(path);
    if (wire === undefined) return fetch(url, init);
    // A renewed key appears only in the request.
    tape.hide(init.headers.authorization?.replace(/^Bearer /, "") ?? "");
    const taking = tape.begin({ wire, path, body: parseJson(tape.clean(init.body ?? "")) ?? {} });
    try {
      return taking.listen(await fetch(url, init));
    } catch (error) {
      taking.end(errnoOf(error) ?? messageOf(error));
      throw error;
    }
  };
  return { fetch: recorded, close: () => tape.close() };
}

/** The values of variables with the name of a secret. */
export function secretsIn(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value && value.length >= shortestSecret && isNamedSecret(name) ? [value] : [],
  );
}

/** The recorded headers. All others are left out, since any of them may hold a key. */
const keptHeaders = /^(content-type|retry-after(-ms)?|x-ratelimit-.*)$/;

class Tape {
  #file: string;
  #fd: number;
  #secrets: string[] = [];
  #takings: Taking[] = [];
  #failure: KodaError | undefined;

  constructor(file: string, secrets: readonly string[]) {
    this.#file = file;
    for (const secret of secrets) this.hide(secret);
    this.#fd = this.#try(() => openSync(file, "w", 0o600));
  }

  hide(secret: string): void {
    // A shorter secret would match unrelated text.
    if (secret.length > 4 && !this.#secrets.includes(secret)) this.#secrets.push(...spellings(secret));
  }

  begin(request: Exchange["request"]): Taking {
    if (this.#failure !== undefined) throw this.#failure;
    const taking = new Taking(request, () => this.#writeEnded());
    this.#takings.push(taking);
    return taking;
  }

  clean(text: string): string {
    return this.#secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, "[key]"), text);
  }

  write(value: Header | Exchange): void {
    const line = Buffer.from(`${this.clean(JSON.stringify(value))}\n`);
    this.#try(() => writeWhole(this.#fd, line));
  }

  close(): void {
    try {
      for (const taking of this.#takings.slice()) taking.end("ECONNRESET");
    } finally {
      closeSync(this.#fd);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** In the order of the requests: a stream may end after the next request was sent. */
  #writeEnded(): void {
    for (let [first] = this.#takings; first?.ended; [first] = this.#takings) {
      this.#takings.shift();
      this.write(first.exchange());
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
  #request: Exchange["request"];
  #onEnd: () => void;
  #response: RecordedResponse = { status: 0, headers: {}, frames: [] };
  #text = "";
  #decoder = new TextDecoder();

  constructor(request: Exchange["request"], onEnd: () => void) {
    this.#request = request;
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
    return { request: this.#request, response: { ...this.#response, frames: [...frames] } };
  }
}
