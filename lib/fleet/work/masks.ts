import { isRecord, type JsonRecord } from "../../config/json.ts";
import { maskKeys } from "../../config/mask.ts";
import { isNamedSecret, shortestSecret } from "../../shell/env.ts";
import type { Transcripts } from "../store.ts";

/** Makes texts fit for the store. The values of secret variables are never in it. */
export type Masks = {
  /** A text, or a JSON text. */
  text(text: string): string;
  /** Of a JSON object, whose text may have in its syntax what would be masked. */
  fields(record: JsonRecord): JsonRecord;
  /** Only in lines that a patch adds: the others have to be as the repository has them. */
  patch(patch: Uint8Array): Uint8Array;
};

type Env = Readonly<Record<string, string | undefined>>;

/** `others` are variables of the task's own that hold keys. */
export function masksFor(transcripts: Transcripts, env: Env, others: readonly string[] = []): Masks {
  const secrets = secretsIn(env, others);
  const hide = hiding(secrets.flatMap(formsOf));
  const text = (value: string) => (transcripts === "full" ? hide(value) : maskKeys(hide(value)));
  return {
    text,
    fields: (record) => fieldsMasked(record, { ofName: hide, ofText: text }),
    patch: (patch) => (secrets.length === 0 ? patch : maskAdded(patch, secrets)),
  };
}

/** A model may choose the names in its answer; one like `key_findings` looks like a key and is none. */
type FieldMasks = Record<"ofName" | "ofText", (text: string) => string>;

function fieldsMasked(record: JsonRecord, masks: FieldMasks): JsonRecord {
  const fields = Object.entries(record);
  return Object.fromEntries(fields.map(([name, value]) => [masks.ofName(name), valueMasked(value, masks)]));
}

function valueMasked(value: unknown, masks: FieldMasks): unknown {
  if (typeof value === "string") return masks.ofText(value);
  if (Array.isArray(value)) return value.map((item) => valueMasked(item, masks));
  return isRecord(value) ? fieldsMasked(value, masks) : value;
}

/** Longest first: one may be a part of another. */
function hiding(forms: readonly string[]): (text: string) => string {
  const all = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
  return (text) => all.reduce((hidden, form) => hidden.replaceAll(form, masked), text);
}

/** As it is, in a JSON text and in one inside of that; each also where bytes are taken for characters. */
function formsOf(secret: string): string[] {
  const forms = [secret, inJson(secret), inJson(inJson(secret))];
  return [...forms, ...forms.map(asBytes)];
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function asBytes(text: string): string {
  return Buffer.from(text).toString("latin1");
}

const masked = "[key]";

function secretsIn(env: Env, others: readonly string[]): string[] {
  const values = Object.entries(env).flatMap(([name, value = ""]) =>
    (isNamedSecret(name) || others.includes(name)) && value.length >= shortestSecret ? [value] : [],
  );
  const all = [...values, ...passwordIn(env["KODA_STORE"])];
  return [...new Set([...all, ...all.flatMap(linesOf)])];
}

/** A key may have several lines, which a patch or the output of a command shows one by one. */
function linesOf(secret: string): string[] {
  const lines = secret.split(/[\r\n]+/).map((line) => line.trim());
  return lines.filter((line) => line.length >= shortestLine);
}

/** Shorter lines of such a value are often no secret: braces, or a number. */
const shortestLine = 16;

/** As it is written in the URL of the store, and as it is. */
function passwordIn(url = ""): string[] {
  const [, written = ""] = /^\w+:\/\/[^/?#]*?:([^/?#]*)@/.exec(url) ?? [];
  const known = [written, unlessMalformed(written)];
  return known.filter((text) => text.length >= shortestSecret);
}

function unlessMalformed(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/**
 * As bytes: a patch may have any. The name of a file that is there already is not changed. There may be a line for
 * every second byte, so only those that are masked become texts of their own.
 */
function maskAdded(patch: Uint8Array, secrets: readonly string[]): Uint8Array {
  const text = Buffer.from(patch).toString("latin1");
  const found = secrets.flatMap(formsOf).filter((form) => text.includes(form));
  if (found.length === 0) return patch;
  const [hide, isIn] = [hiding(found), finding(text, found)];
  const pieces: string[] = [];
  let copied = 0;
  let header: "of a new file" | "of a file" | undefined;
  for (let at = 0, end = 0; at < text.length; at = end + 1) {
    const lineFeed = text.indexOf("\n", at);
    end = lineFeed < 0 ? text.length : lineFeed;
    if (text.startsWith("diff --git ", at))
      header = text.startsWith("new file mode ", end + 1) ? "of a new file" : "of a file";
    else if (text.startsWith("@@ ", at) || text.startsWith("GIT binary patch\n", at)) header = undefined;
    const isAdded = header === undefined ? text[at] === "+" : header === "of a new file";
    if (!isAdded || !isIn(at, end)) continue;
    pieces.push(text.slice(copied, at), hide(text.slice(at, end)));
    copied = end;
  }
  pieces.push(text.slice(copied));
  return Buffer.from(pieces.join(""), "latin1");
}

/** Tells of one part of a text after the other if a form begins in it. */
function finding(text: string, forms: readonly string[]): (at: number, end: number) => boolean {
  const places = forms.map(() => -1);
  return (at, end) => {
    for (const [index, form] of forms.entries()) {
      if ((places[index] ?? 0) < at) {
        const found = text.indexOf(form, at);
        places[index] = found < 0 ? Infinity : found;
      }
    }
    return places.some((place) => place < end);
  };
}
