import { maskArgument, maskHeader, maskQuery } from "./mask.ts";
import { formatDuration, longestTimeoutMs, parseDuration } from "./units.ts";

/** A part of a JSON Schema. */
export type SchemaPart = { readonly [keyword: string]: unknown };

/** The type of a configuration value, and the changes to it that a project file may make without trust. */
export type ConfigType<T> = {
  /** Completes "expected …" in messages. */
  readonly expected: string;
  /** For editors. Accepts everything that `read` does, and a little more where a schema cannot say it. */
  readonly schema: SchemaPart;
  /** Undefined when the raw value is not of this type. */
  readonly read: (raw: unknown) => T | undefined;
  /** True when `raw` allows nothing that `base` does not; both are raw values. Absent when nothing does. */
  readonly narrows?: (raw: unknown, base: unknown) => boolean;
  /** Turns the parsed value of a flag into the raw value that a file would have. */
  readonly write?: (value: unknown) => unknown;
  /** A list: the items of flags are added to those of files. */
  readonly adds?: true;
  /** A list of denials: a project's items are added too, so that it cannot remove any. */
  readonly denies?: true;
  /** A list that a trusted project adds to, and from which it removes nothing. */
  readonly grows?: true;
  /** The problem within a refused value, and its place there; absent where `expected` says enough. */
  readonly fault?: (raw: unknown, place: string) => string | undefined;
  /** Messages do not repeat a refused value, since it may be a key in the wrong place. */
  readonly secret?: true;
  /** The value as `koda doctor` shows it, where a part of it may be a key. */
  readonly mask?: (raw: unknown) => unknown;
};

export const nonEmptyString: ConfigType<string> = {
  expected: "a non-empty string",
  schema: { type: "string", pattern: "\\S" },
  read: (raw) => (typeof raw === "string" && raw.trim() !== "" ? raw : undefined),
};

/** For permissions: true is the wider value. */
export const trueOrFalse: ConfigType<boolean> = {
  expected: "true or false",
  schema: { type: "boolean" },
  read: (raw) => (typeof raw === "boolean" ? raw : undefined),
  narrows: (raw, base) => raw === false || base === true,
};

/** One of several words, the narrowest first. */
export function choiceOf<const T extends string>(choices: readonly T[]): ConfigType<T> {
  const read = (raw: unknown) => choices.find((choice) => choice === raw);
  return {
    schema: { enum: choices },
    expected: `one of ${choices.map((choice) => `"${choice}"`).join(", ")}`,
    read,
    narrows: comparing(read, (value, base) => choices.indexOf(value) <= choices.indexOf(base)),
  };
}

export const positiveInteger: ConfigType<number> = upTo({
  expected: "a positive integer",
  schema: { type: "integer", minimum: 1 },
  read: (raw) => (typeof raw === "number" && Number.isSafeInteger(raw) && raw >= 1 ? raw : undefined),
});

/** Milliseconds that a timer can count. */
export const timeLimit: ConfigType<number> = upTo({
  expected: 'a time such as "500ms", "30s", "10m" or "2h" (at most 24 days)',
  schema: { type: "string", pattern: "^\\d{1,9}(\\.\\d{1,3})?(ms|s|m|h|d)$" },
  read: (raw) => {
    const ms = typeof raw === "string" ? parseDuration(raw) : undefined;
    return ms !== undefined && ms >= 1 && ms <= longestTimeoutMs ? ms : undefined;
  },
  write: (value) => (typeof value === "number" ? formatDuration(value) : value),
});

export const positiveNumber: ConfigType<number> = upTo({
  expected: "a positive number",
  schema: { type: "number", exclusiveMinimum: 0 },
  read: (raw) => (typeof raw === "number" && Number.isFinite(raw) && raw > 0 ? raw : undefined),
});

export const nonNegativeNumber: ConfigType<number> = {
  expected: "a non-negative number",
  schema: { type: "number", minimum: 0 },
  read: (raw) => (typeof raw === "number" && Number.isFinite(raw) && raw >= 0 ? raw : undefined),
};

/** A part of a whole. */
export const share: ConfigType<number> = upTo({
  expected: "a number above 0 and at most 1",
  schema: { type: "number", exclusiveMinimum: 0, maximum: 1 },
  read: (raw) => (typeof raw === "number" && raw > 0 && raw <= 1 ? raw : undefined),
});

/** fetch refuses a URL with a user name; refused here, the message can say so. */
export const httpUrl: ConfigType<string> = {
  expected: "an http:// or https:// URL without user name and fragment",
  schema: { type: "string" },
  read: (raw) => {
    const url = typeof raw === "string" ? URL.parse(raw) : null;
    if (url === null || !["http:", "https:"].includes(url.protocol)) return undefined;
    if (url.username + url.password + url.hash !== "") return undefined;
    return url.origin + url.pathname.replace(/\/+$/, "") + url.search;
  },
  secret: true,
  mask: (raw) => maskQuery(String(raw)),
};

/** The value of a request header; it may contain `${VAR}`. */
export const headerValue: ConfigType<string> = {
  expected: "a non-empty string of printable ASCII characters",
  schema: { type: "string", pattern: "^[\\x20-\\x7e]+$" },
  read: (raw) => (typeof raw === "string" && /^[\x20-\x7e]+$/.test(raw) && raw.trim() !== "" ? raw.trim() : undefined),
  secret: true,
  mask: (raw) => maskHeader(String(raw)),
};

/** A program and its arguments, run without a shell. */
export const argumentVector: ConfigType<readonly string[]> = {
  expected: 'a list of a program and its arguments, as in ["vault", "read", "key"]',
  schema: { type: "array", items: { type: "string" }, minItems: 1 },
  read: (raw) => {
    const isArgv = Array.isArray(raw) && raw.every((part) => typeof part === "string" && !part.includes("\0"));
    return isArgv && raw[0]?.trim() ? raw : undefined;
  },
  secret: true,
  mask: (raw) => (Array.isArray(raw) ? raw.map((part) => maskArgument(String(part))) : raw),
};

export const variableName: ConfigType<string> = {
  expected: "the name of an environment variable",
  schema: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
  read: (raw) => (typeof raw === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(raw) ? raw : undefined),
  secret: true,
};

/** A text that may be a secret; it may contain `${VAR}`. */
export const secretText: ConfigType<string> = {
  expected: "a string",
  schema: { type: "string" },
  read: (raw) => (typeof raw === "string" && !raw.includes("\0") ? raw : undefined),
  secret: true,
  mask: (raw) => maskHeader(String(raw)),
};

/** The URL of a server; `${VAR}` in it is replaced later. */
export const serverUrl: ConfigType<string> = {
  expected: "an http:// or https:// URL without user name",
  schema: { type: "string", pattern: "^(https?://|\\$\\{)[^\\s@]+$" },
  read: (raw) => (typeof raw === "string" && /^(https?:\/\/|\$\{)[^\s@]+$/.test(raw) ? raw : undefined),
  secret: true,
  mask: (raw) => maskQuery(String(raw)),
};

/** Arguments of a program; they may be empty. */
export const texts: ConfigType<readonly string[]> = {
  expected: "a list of strings",
  schema: { type: "array", items: { type: "string" } },
  read: (raw) =>
    Array.isArray(raw) && raw.every((part) => typeof part === "string" && !part.includes("\0")) ? raw : undefined,
  secret: true,
  mask: (raw) => (Array.isArray(raw) ? raw.map((part) => maskArgument(String(part))) : raw),
};

export const stringList = listOf(nonEmptyString, "a list of non-empty strings");
export const denyList: ConfigType<readonly string[]> = { ...stringList, narrows: () => true, denies: true };
export const variableNames = listOf(variableName, "a list of names of environment variables");

/** `null` means "none": for a limit there is nothing wider. */
export function nullable<T>(type: ConfigType<T>): ConfigType<T | null> {
  return {
    ...type,
    expected: `${type.expected}, or null`,
    schema: { anyOf: [type.schema, { type: "null" }] },
    read: (raw) => (raw === null ? null : type.read(raw)),
    narrows: (raw, base) => base === null || (raw !== null && type.narrows?.(raw, base) === true),
  };
}

function listOf(type: ConfigType<string>, expected: string): ConfigType<readonly string[]> {
  const read = (raw: unknown) => {
    const items = Array.isArray(raw) ? raw.map(type.read) : [undefined];
    return items.every((item) => item !== undefined) ? items : undefined;
  };
  return {
    expected,
    schema: { type: "array", items: type.schema },
    read,
    narrows: comparing(read, (value, base) => value.every((item) => base.includes(item))),
    adds: true,
    ...(type.secret && { secret: true }),
  };
}

function upTo(type: Omit<ConfigType<number>, "narrows">): ConfigType<number> {
  return { ...type, narrows: comparing(type.read, (value, base) => value <= base) };
}

function comparing<T>(
  read: ConfigType<T>["read"],
  isWithin: (value: T, base: T) => boolean,
): (raw: unknown, base: unknown) => boolean {
  return (raw, base) => {
    const [value, limit] = [read(raw), read(base)];
    return value !== undefined && limit !== undefined && isWithin(value, limit);
  };
}
