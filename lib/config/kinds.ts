import { maskArgument, maskHeader, maskQuery } from "./mask.ts";
import { formatDuration, longestTimeoutMs, parseDuration } from "./units.ts";

/** What may stand as a value in the configuration, and what of it a project file may change unasked. */
export type Kind<T> = {
  /** Completes "expected …" when a value is refused. */
  readonly expected: string;
  /** Undefined when what is written is not of this kind. */
  readonly read: (written: unknown) => T | undefined;
  /** Whether what is written allows nothing that `base`, written too, does not. */
  readonly narrows: (written: unknown, base: unknown) => boolean;
  /** A flag's value, read from the command line already, as it would be written in a file. */
  readonly write?: (value: unknown) => unknown;
  /** A list: what a flag says is added to what files say. */
  readonly adds?: true;
  /** A list of what is refused: what a project says is added to it too, so that nothing can be dropped from it. */
  readonly denies?: true;
  /** A refused value is not repeated in the message: it may be a key that was put in the wrong place. */
  readonly secret?: true;
  /** The value as `koda doctor` shows it, where a part of it may be a key. */
  readonly mask?: (written: unknown) => unknown;
};

const neverNarrows = () => false;

export const text: Kind<string> = {
  expected: "a non-empty string",
  read: (written) => (typeof written === "string" && written.trim() !== "" ? written : undefined),
  narrows: neverNarrows,
};

/** Whether something is allowed. */
export const yesNo: Kind<boolean> = {
  expected: "true or false",
  read: (written) => (typeof written === "boolean" ? written : undefined),
  narrows: (written, base) => written === false || base === true,
};

/** The choices are in order: an earlier one is narrower. */
export function oneOf<const T extends string>(choices: readonly T[]): Kind<T> {
  const read = (written: unknown) => choices.find((choice) => choice === written);
  return {
    expected: `one of ${choices.map((choice) => `"${choice}"`).join(", ")}`,
    read,
    narrows: comparing(read, (value, base) => choices.indexOf(value) <= choices.indexOf(base)),
  };
}

export const count: Kind<number> = upTo({
  expected: "a positive integer",
  read: (written) =>
    typeof written === "number" && Number.isSafeInteger(written) && written >= 1 ? written : undefined,
});

/** Something that can be waited for: milliseconds, longer than no time and no longer than a timer can wait. */
export const timeout: Kind<number> = upTo({
  expected: 'a time such as "500ms", "30s", "10m" or "2h" (at most 24 days)',
  read: (written) => {
    const ms = typeof written === "string" ? parseDuration(written) : undefined;
    return ms !== undefined && ms >= 1 && ms <= longestTimeoutMs ? ms : undefined;
  },
  write: (value) => (typeof value === "number" ? formatDuration(value) : value),
});

export const amount: Kind<number> = {
  expected: "a non-negative number",
  read: (written) => (typeof written === "number" && Number.isFinite(written) && written >= 0 ? written : undefined),
  narrows: neverNarrows,
};

/** fetch refuses a URL with a user name in it, so it is refused here, where the message can say so. */
export const address: Kind<string> = {
  expected: "an http:// or https:// URL without user name and fragment",
  read: (written) => {
    const url = typeof written === "string" ? URL.parse(written) : null;
    if (url === null || !["http:", "https:"].includes(url.protocol)) return undefined;
    if (url.username + url.password + url.hash !== "") return undefined;
    return url.origin + url.pathname.replace(/\/+$/, "") + url.search;
  },
  narrows: neverNarrows,
  secret: true,
  mask: (written) => maskQuery(String(written)),
};

/** The value of a request header, in which `${VAR}` stands for a variable. */
export const header: Kind<string> = {
  expected: "a non-empty string of printable ASCII characters",
  read: (written) =>
    typeof written === "string" && /^[\x20-\x7e]*[\x21-\x7e][\x20-\x7e]*$/.test(written) ? written.trim() : undefined,
  narrows: neverNarrows,
  secret: true,
  mask: (written) => maskHeader(String(written)),
};

/** A program and its arguments, started without a shell. */
export const command: Kind<readonly string[]> = {
  expected: 'a list of a program and its arguments, as in ["vault", "read", "key"]',
  read: (written) => {
    const isArgv = Array.isArray(written) && written.every((part) => typeof part === "string" && !part.includes("\0"));
    return isArgv && written[0]?.trim() ? written : undefined;
  },
  narrows: neverNarrows,
  secret: true,
  mask: (written) => (Array.isArray(written) ? written.map((part) => maskArgument(String(part))) : written),
};

export const variable: Kind<string> = {
  expected: "the name of an environment variable",
  read: (written) => (typeof written === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(written) ? written : undefined),
  narrows: neverNarrows,
  secret: true,
};

export const texts = listOf(text, "a list of non-empty strings");
export const denials: Kind<readonly string[]> = { ...texts, narrows: () => true, denies: true };
export const variables = listOf(variable, "a list of names of environment variables");

/** `null` says "none", of a limit for example: there is nothing wider. */
export function optional<T>(kind: Kind<T>): Kind<T | null> {
  return {
    ...kind,
    expected: `${kind.expected}, or null`,
    read: (written) => (written === null ? null : kind.read(written)),
    narrows: (written, base) => base === null || (written !== null && kind.narrows(written, base)),
  };
}

function listOf(kind: Kind<string>, expected: string): Kind<readonly string[]> {
  const read = (written: unknown) => {
    const items = Array.isArray(written) ? written.map(kind.read) : [undefined];
    return items.every((item) => item !== undefined) ? items : undefined;
  };
  return {
    expected,
    read,
    narrows: comparing(read, (value, base) => value.every((item) => base.includes(item))),
    adds: true,
    ...(kind.secret && { secret: true }),
  };
}

function upTo(kind: Omit<Kind<number>, "narrows">): Kind<number> {
  return { ...kind, narrows: comparing(kind.read, (value, base) => value <= base) };
}

function comparing<T>(read: Kind<T>["read"], isWithin: (value: T, base: T) => boolean): Kind<T>["narrows"] {
  return (written, base) => {
    const [value, limit] = [read(written), read(base)];
    return value !== undefined && limit !== undefined && isWithin(value, limit);
  };
}
