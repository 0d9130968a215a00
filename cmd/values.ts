import { httpUrl, variableName } from "../lib/config/types.ts";
import { longestTimeoutMs, parseDuration } from "../lib/config/units.ts";

/** A kind of value that a flag or an argument takes: how help calls it, what it accepts, what a shell can complete. */
export type Value<T> = {
  /** `FILE` in help. */
  readonly placeholder: string;
  /** Completes "expected …" when a value is refused. */
  readonly expected: string;
  /** Undefined when the text is no such value. */
  readonly read: (text: string) => T | undefined;
  readonly choices?: readonly string[];
  readonly completes?: "file" | "directory" | "program" | Offered;
  /** A refused value is not repeated: it may be a key in the wrong place. */
  readonly secret?: true;
  /** Several words, so in need of quotes. */
  readonly sentence?: true;
  /** The complaint about an empty value, where that says more than what was expected. */
  readonly ifEmpty?: string;
};

/** Values that only koda knows; a shell asks for them with `koda __complete`. */
export const offered = ["models", "sessions", "tools"] as const;
export type Offered = (typeof offered)[number];

export function text(placeholder: string): Value<string> {
  return { placeholder, expected: `a ${placeholder.toLowerCase()}`, read: (value) => value };
}

export function sentence(placeholder: string): Value<string> {
  return { ...text(placeholder), sentence: true };
}

export const file: Value<string> = { ...text("FILE"), expected: "the name of a file", completes: "file" };
export const directory: Value<string> = { ...text("DIR"), expected: "the name of a directory", completes: "directory" };

export const program: Value<string> = { ...text("CMD"), expected: "a program", completes: "program" };

export const model: Value<string> = { ...text("NAME"), completes: "models" };
export const tool: Value<string> = { ...text("NAME"), completes: "tools" };

export const path: Value<string> = { ...text("PATH"), expected: "the name of a file or directory", completes: "file" };

/** Whether it makes a rule, the rules say. */
export const host: Value<string> = { ...text("PATTERN"), expected: "a host, as in *.example.com or example.com:22" };

export function oneOf<const T extends string>(...choices: readonly T[]): Value<T> {
  return {
    placeholder: choices.join("|"),
    expected: choices.join(", ").replace(/, ([^,]+)$/, " or $1"),
    read: (value) => choices.find((choice) => choice === value),
    choices,
  };
}

function matching(placeholder: string, pattern: RegExp, expected: string): Value<string> {
  return { placeholder, expected, read: (value) => (pattern.test(value) ? value : undefined) };
}

export const sessionName: Value<string> = {
  ...matching("ID", /^[A-Za-z0-9._-]{1,64}$/, "1 to 64 of the characters A-Z a-z 0-9 . _ -"),
  completes: "sessions",
};
/** An id that exists already, or the beginning of one: whether there is such a session, the store says. */
export const sessionId: Value<string> = { ...text("ID"), completes: "sessions" };
/** Which keys there are, the configuration knows. The value may be a secret. */
export const setting: Value<string> = {
  ...matching("KEY=VALUE", /^[^=].*=/s, "KEY=VALUE, as in limits.max_turns=50"),
  secret: true,
};

/** The same addresses and names as in a configuration file. */
export const url: Value<string> = { placeholder: "URL", ...httpUrl };
export const variable: Value<string> = { placeholder: "NAME", ...variableName };

/** Where to listen. IPv6 stands in brackets, as in a URL. */
export const place: Value<{ host: string; port: number }> = {
  placeholder: "HOST:PORT",
  expected: "a host and a port, as in 127.0.0.1:3128 or [::1]:0",
  read: (text) => {
    const [, bracketed, plain, port] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
    const host = bracketed ?? plain;
    return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
  },
};

/** A positive integer: all that is counted here makes no sense as 0. */
export const count: Value<number> = {
  placeholder: "N",
  expected: "a positive integer",
  read: (value) => (/^\d{1,15}$/.test(value) && Number(value) >= 1 ? Number(value) : undefined),
};

export const fraction: Value<number> = {
  placeholder: "N",
  expected: "a non-negative number",
  read: (value) => (/^\d+(\.\d+)?$/.test(value) ? Number(value) : undefined),
};

/** A limit, in milliseconds: longer than no time, and no longer than a timer can count. */
export const duration: Value<number> = {
  placeholder: "DURATION",
  expected: "a time such as 500ms, 30s, 10m or 2h (at most 24 days)",
  read: (value) => timeWithin(value, 1, longestTimeoutMs),
};

export const wait: Value<number> = { ...duration, read: (value) => timeWithin(value, 0, longestTimeoutMs) };

/** How long ago; no timer is set for it. */
export const age: Value<number> = {
  placeholder: "AGE",
  expected: "a time such as 12h or 30d",
  read: (value) => timeWithin(value, 1, Infinity),
};

function timeWithin(value: string, leastMs: number, mostMs: number): number | undefined {
  const ms = parseDuration(value);
  return ms !== undefined && ms >= leastMs && ms <= mostMs ? ms : undefined;
}

/** Deno's way of writing several in one: `a,b`, and `,,` for a comma that belongs to the value. */
export function list<T>(item: Value<T>): Value<readonly T[]> {
  return {
    ...item,
    read: (value) => {
      const items = splitAtCommas(value).map((part) => (part === "" ? undefined : item.read(part)));
      return items.every((part) => part !== undefined) ? items : undefined;
    },
  };
}

function splitAtCommas(value: string): string[] {
  return value.split(/(?<!,),(?!,)/).map((part) => part.replaceAll(",,", ","));
}
