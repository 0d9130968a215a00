import { maskKeys } from "../../config/mask.ts";
import { isNamedSecret, shortestSecret } from "../../shell/env.ts";
import type { Transcripts } from "../store.ts";

/** Makes texts fit for the store. The values of secret variables are never in it. */
export type Masks = {
  /** A text, or a JSON text. */
  text(text: string): string;
  /** Only in lines that a patch adds: the others have to be as the repository has them. */
  patch(patch: Uint8Array): Uint8Array;
};

type Env = Readonly<Record<string, string | undefined>>;

/** `others` are variables of the task's own that hold keys. */
export function masksFor(transcripts: Transcripts, env: Env, others: readonly string[] = []): Masks {
  const secrets = secretsIn(env, others);
  const written = [...new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
  const hide = (text: string) => written.reduce((masked, secret) => masked.replaceAll(secret, mask), text);
  return {
    text: (text) => (transcripts === "full" ? hide(text) : maskKeys(hide(text))),
    patch: (patch) => (secrets.length === 0 ? patch : maskAdded(patch, secrets)),
  };
}

const mask = "[key]";

/** Longest first: one may be a part of another. */
function secretsIn(env: Env, others: readonly string[]): string[] {
  const values = Object.entries(env).flatMap(([name, value = ""]) =>
    (isNamedSecret(name) || others.includes(name)) && value.length >= shortestSecret ? [value] : [],
  );
  return [...new Set([...values, ...passwordIn(env["KODA_STORE"])])].toSorted((a, b) => b.length - a.length);
}

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

/** As bytes: a patch may have any. */
function maskAdded(patch: Uint8Array, secrets: readonly string[]): Uint8Array {
  const text = Buffer.from(patch).toString("latin1");
  const found = secrets.map((secret) => Buffer.from(secret).toString("latin1")).filter((each) => text.includes(each));
  if (found.length === 0) return patch;
  const hide = (line: string) => found.reduce((masked, secret) => masked.replaceAll(secret, mask), line);
  const lines = text.split("\n").map((line) => (line.startsWith("+") ? hide(line) : line));
  return Uint8Array.from(Buffer.from(lines.join("\n"), "latin1"));
}
