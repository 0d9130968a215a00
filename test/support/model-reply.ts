import type { Wire } from "../../lib/config/config.ts";
import type { Asked, Part, ReplyOptions, Wait } from "./model-frame.ts";
import { framesOf } from "./model-wire.ts";

/**
 * The vocabulary of a scripted model: `say`, `think`, `call` and `wait` are the parts of a reply, `reply` puts several
 * together, and the rest are the ways in which a provider fails.
 */

/** One thing the server does on the connection, in order. Without an `end` the response ends as HTTP wants it. */
export type Step =
  | { type: "head"; status: number; headers: Record<string, string> }
  | { type: "send"; bytes: Uint8Array }
  | { type: "flush" }
  | Wait
  | { type: "end"; how: Ending };

/** `end`: complete HTTP, though perhaps half a reply; `fin`, `rst`: the connection goes away in mid-body. */
export type Ending = "end" | "fin" | "rst";

export type Reply = (asked: Asked) => Step[];
/** An entry of a script: a reply, or the parts of one. */
export type Entry = Reply | Part | readonly Part[];

/** Text, one delta per argument; a single argument is broken into words. */
export function say(...deltas: string[]): Part {
  return { type: "text", deltas: deltas.length === 1 ? words(deltas[0] ?? "") : deltas };
}

export function think(text: string, token?: string): Part {
  return { type: "thinking", deltas: words(text), ...(token !== undefined && { token }) };
}

/** A tool call. A string is sent as the arguments' very text, so that it can be malformed. */
export function call(tool: string, input: unknown = {}, options: { id?: string; pieceLength?: number } = {}): Part {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return { type: "call", tool, pieces: pieces(text, options.pieceLength ?? 16), ...(options.id && { id: options.id }) };
}

/** Nothing more until the test resolves the promise; a function is called when the reply comes to this point. */
export function wait(until: Wait["until"]): Wait {
  return { type: "wait", until };
}

/** The rest of the reply never comes, though the connection stays open. */
export function silence(): Wait {
  return wait(new Promise(() => {}));
}

/** Several parts in one reply; the last argument may set the usage and the finish reason. */
export function reply(...content: readonly (Part | ReplyOptions)[]): Reply {
  const parts = content.filter((part) => "type" in part);
  const options = content.find((part): part is ReplyOptions => !("type" in part)) ?? {};
  return (asked) => streamed(framesOf(parts, options, asked));
}

/** An answer that is no stream: an error with its body, an HTML page, a redirect. */
export function status(code: number, body: unknown = "", headers: Record<string, string> = {}): Reply {
  const json = typeof body !== "string";
  const type = json ? "application/json" : "text/plain";
  return () => [
    { type: "head", status: code, headers: { "content-type": type, ...headers } },
    send(json ? JSON.stringify(body) : body),
  ];
}

/** The error body that most providers use. */
export function problem(
  code: number,
  message: string,
  headers: Record<string, string> = {},
  error: object = {},
): Reply {
  return status(code, { error: { message, type: null, param: null, code: null, ...error } }, headers);
}

/** Frames exactly as given, and whatever headers. */
export function raw(frames: readonly (string | Wait)[], headers: Record<string, string> = {}): Reply {
  return () => streamed(frames, headers);
}

/** The same reply with more headers. */
export function withHeaders(entry: Entry, headers: Record<string, string>): Reply {
  return (asked) =>
    asReply(entry)(asked).map((step) =>
      step.type === "head" ? { ...step, headers: { ...step.headers, ...headers } } : step,
    );
}

/** The connection is accepted and the request read, and that is all. */
export function hang(): Reply {
  return () => [silence()];
}

/** Stops a reply after so many frames. */
export function cut(entry: Entry, { frames }: { frames: number }, how: Ending = "fin"): Reply {
  return (asked) => {
    let left = frames;
    const kept = asReply(entry)(asked).filter((step) => step.type !== "send" || left-- > 0);
    return [...kept, { type: "end", how }];
  };
}

/** The same bytes in pieces of `size`, each leaving the server on its own. */
export function drip(entry: Entry, size = 1): Reply {
  return (asked) =>
    asReply(entry)(asked).flatMap((step) => {
      if (step.type !== "send") return [step];
      const count = Math.ceil(step.bytes.length / size);
      return Array.from({ length: count }, (_, index): Step[] => [
        { type: "send", bytes: step.bytes.subarray(index * size, (index + 1) * size) },
        { type: "flush" },
      ]).flat();
    });
}

/** The same bytes in pieces of random sizes: they cut frames, lines and characters anywhere, and some hold several. */
export function shred(entry: Entry, random: () => number): Reply {
  return (asked) =>
    asReply(entry)(asked).flatMap((step) => {
      if (step.type !== "send") return [step];
      const pieces: Step[] = [];
      for (let at = 0; at < step.bytes.length;) {
        const end = at + 1 + Math.floor(2000 * random() ** 3);
        pieces.push({ type: "send", bytes: step.bytes.subarray(at, end) });
        if (end < step.bytes.length || random() < 0.5) pieces.push({ type: "flush" });
        at = end;
      }
      return pieces;
    });
}

/** The body of a reply as it is sent, for cutting it in every place. */
export function bytesOf(entry: Entry, wire: Wire): Uint8Array {
  return Buffer.concat(sendsOf(entry, wire));
}

/** How many frames that is. */
export function framesIn(entry: Entry, wire: Wire): number {
  return sendsOf(entry, wire).length;
}

function sendsOf(entry: Entry, wire: Wire): Uint8Array[] {
  const steps = asReply(entry)({ wire, index: 0, model: "scripted", wantsUsage: true });
  return steps.flatMap((step) => (step.type === "send" ? [step.bytes] : []));
}

export function asReply(entry: Entry): Reply {
  if (typeof entry === "function") return entry;
  return "type" in entry ? reply(entry) : reply(...entry);
}

function streamed(frames: readonly (string | Wait)[], headers: Record<string, string> = {}): Step[] {
  return [
    { type: "head", status: 200, headers: { "content-type": "text/event-stream", ...headers } },
    ...frames.map((frame): Step => (typeof frame === "string" ? send(frame) : frame)),
  ];
}

function send(text: string): Step {
  return { type: "send", bytes: new TextEncoder().encode(text) };
}

function words(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? (text === "" ? [] : [text]);
}

function pieces(text: string, length: number): string[] {
  const count = Math.ceil(text.length / length);
  return Array.from({ length: count }, (_, index) => text.slice(index * length, (index + 1) * length));
}
