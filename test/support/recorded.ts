import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { arrayIn, isRecord, type JsonRecord, parseJson, recordIn, recordOf } from "../../lib/config/json.ts";
import type { Wire } from "../../lib/config/config.ts";
import { frame } from "./model-frame.ts";

/** A reply that a provider once streamed: the JSON of its frames. */
export type RecordedReply = { wire: Wire; name: string; frames: readonly string[] };

/**
 * The replies in files named `WIRE-PROVIDER-CASE.chunks.txt`. A file that holds several, of one conversation, is sent as
 * so many streams. Files of wires that koda does not speak are left out.
 */
export function recordedReplies(directory: string): RecordedReply[] {
  const files = readdirSync(directory).filter((file) => file.endsWith(suffix));
  return files.sort().flatMap((file) => {
    const name = file.slice(0, -suffix.length);
    const wire = wires.find((one) => name.startsWith(`${one}-`));
    if (wire === undefined) return [];
    const lines = readFileSync(join(directory, file), "utf8").split("\n");
    const replies = splitReplies(
      wire,
      lines.filter((line) => line.trim() !== ""),
    );
    return replies.map((frames, index) => ({
      wire,
      name: replies.length === 1 ? name : `${name} #${index + 1}`,
      frames,
    }));
  });
}

const suffix = ".chunks.txt";

type Recording = {
  /** True for the first frame of a reply; `ended` when the one before has its terminal frame. */
  begins: (frame: JsonRecord, ended: boolean) => boolean;
  /** True for the frame without which a reply is not complete. */
  isTerminal: (frame: JsonRecord) => boolean;
  /** The bytes of a frame as a provider sends it, and what follows the last one. */
  encode: (json: string, frame: JsonRecord) => string;
  closing: string;
  /** How a call's arguments stand in the bytes of the next request. */
  repeats: (args: string) => string;
};

const asText = (args: string) => `"arguments":${JSON.stringify(args)}`;
const named = (json: string, { type }: JsonRecord) => `event: ${String(type)}\n${frame(json)}`;

const recordings = {
  chat: {
    begins: ({ choices }, ended) => ended && Array.isArray(choices) && choices.length > 0,
    isTerminal: (chunk) => typeof recordOf(arrayIn(chunk, "choices")[0]).finish_reason === "string",
    encode: frame,
    closing: frame("[DONE]"),
    repeats: asText,
  },
  responses: {
    begins: ({ type }) => type === "response.created",
    isTerminal: ({ type }) => type === "response.completed" || type === "response.incomplete",
    encode: named,
    closing: "",
    repeats: asText,
  },
  messages: {
    begins: ({ type }) => type === "message_start",
    isTerminal: (event) => event.type === "message_stop" || typeof recordIn(event, "delta").stop_reason === "string",
    encode: named,
    closing: "",
    repeats: (args) => `"input":${args}`,
  },
} satisfies Record<Wire, Recording>;

const wires = Object.keys(recordings) as Wire[];

function splitReplies(wire: Wire, lines: readonly string[]): string[][] {
  const { begins, isTerminal } = recordings[wire];
  const replies: string[][] = [];
  let ended = false;
  for (const line of lines) {
    const read = parsed(line);
    const isFirst: boolean = replies.length === 0 || begins(read, ended);
    if (isFirst) replies.push([]);
    replies.at(-1)?.push(line);
    ended = (ended && !isFirst) || isTerminal(read);
  }
  return replies;
}

/** The frames that the provider sent. */
export function framesSent({ wire, frames }: RecordedReply): string[] {
  const { encode, closing } = recordings[wire];
  return [...frames.map((line) => encode(line, parsed(line))), ...(closing === "" ? [] : [closing])];
}

/** The number of frames before the one that completes the reply. */
export function framesBeforeTerminal({ wire, frames }: RecordedReply): number {
  return frames.findIndex((line) => recordings[wire].isTerminal(parsed(line)));
}

/** The arguments of a call as the next request has to repeat them. */
export function repeatedArguments({ wire }: RecordedReply, args: string): string {
  return recordings[wire].repeats(args);
}

/** The whole reply as its last frame repeats it, which is how a server answers that does not stream. */
export function wholeReply({ frames }: RecordedReply): JsonRecord {
  return recordIn(parsed(frames.at(-1) ?? ""), "response");
}

function parsed(line: string): JsonRecord {
  const value = parseJson(line);
  if (!isRecord(value)) throw new Error(`This recorded frame is not an object: ${line.slice(0, 100)}`);
  return value;
}
