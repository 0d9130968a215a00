import { withoutCredentials } from "./value.ts";

/** Settings of which only what is known to be harmless is left. */
type Redacted = {
  text: string;
  /** Nothing was left out, comments included: the file itself is harmless. */
  isWhole: boolean;
};

/** Settings from a text; undefined when it cannot be told what they say. */
export type Redact = (text: string) => Redacted | undefined;

/** The value as it may be shown; undefined when the file must stay hidden. */
export function harmlessValue(value: string): { value: string; isWhole: boolean } | undefined {
  if (value.length > longest || value.includes("\0")) return undefined;
  // A comment behind a value is a comment for some tools, and a part of the value for others.
  const [said = ""] = value.split(/\s[#;]/, 1);
  const harmless = withoutCredentials(said);
  return harmless === undefined ? undefined : { value: harmless, isWhole: harmless === value };
}

const longest = 4 * 1024;

/** A setting that was commented out may still hold its token. */
export function mayHoldSecrets(comment: string): boolean {
  return /token|key|secret|passw|credential|auth|login|user|@|:\/\/|[A-Za-z\d+/_-]{20,}/i.test(comment);
}

/** Undefined for what cannot be read: outside of the sandbox the tool itself says what is wrong with it. */
export function parsedBy(parse: (text: string) => unknown, text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

export function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
