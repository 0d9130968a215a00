/** A kind of value that a flag or an argument takes: how help calls it, what it accepts, what a shell can complete. */
export type Value<T> = {
  /** `FILE` in help. */
  readonly placeholder: string;
  /** Completes "expected …" when a value is refused. */
  readonly expected: string;
  /** Undefined when the text is no such value. */
  readonly read: (text: string) => T | undefined;
  readonly choices?: readonly string[];
  readonly completes?: "file" | "directory" | "session";
  /** Several words, so in need of quotes. */
  readonly sentence?: true;
};

export function text(placeholder: string): Value<string> {
  return { placeholder, expected: `a ${placeholder.toLowerCase()}`, read: (value) => value };
}

export function sentence(placeholder: string): Value<string> {
  return { ...text(placeholder), sentence: true };
}

export const file: Value<string> = { ...text("FILE"), completes: "file" };
export const directory: Value<string> = { ...text("DIR"), completes: "directory" };

export function oneOf<const T extends string>(...choices: readonly T[]): Value<T> {
  return {
    placeholder: choices.join("|"),
    expected: choices.join(", ").replace(/, ([^,]+)$/, " or $1"),
    read: (value) => choices.find((choice) => choice === value),
    choices,
  };
}

export function matching(placeholder: string, pattern: RegExp, expected: string): Value<string> {
  return { placeholder, expected, read: (value) => (pattern.test(value) ? value : undefined) };
}

export const variable = matching("NAME", /^[A-Za-z_][A-Za-z0-9_]*$/, "the name of an environment variable");
export const sessionName = matching("ID", /^[A-Za-z0-9._-]{1,64}$/, "1 to 64 of the characters A-Z a-z 0-9 . _ -");
/** An id that exists already, or the beginning of one: whether there is such a session, the store says. */
export const sessionId: Value<string> = { ...text("ID"), completes: "session" };
export const setting = matching("KEY=VALUE", /^[^=\s]+=/, 'KEY=VALUE, as in "limits.max_turns=50"');

export const url: Value<string> = {
  placeholder: "URL",
  expected: "an http:// or https:// address",
  read: (value) => (/^https?:\/\/./.test(value) && URL.canParse(value) ? value : undefined),
};

/** A whole number from 1 on: all that is counted here makes no sense as 0. */
export const count: Value<number> = {
  placeholder: "N",
  expected: "a whole number from 1 on",
  read: (value) => (/^\d{1,15}$/.test(value) && Number(value) >= 1 ? Number(value) : undefined),
};

export const fraction: Value<number> = {
  placeholder: "N",
  expected: "a number from 0 on",
  read: (value) => (/^\d+(\.\d+)?$/.test(value) ? Number(value) : undefined),
};

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds from `500ms`, `30s`, `10m`, `2h`, `30d`. A bare number is refused, for nobody knows its unit. */
export const duration: Value<number> = {
  placeholder: "DURATION",
  expected: "a time such as 500ms, 30s, 10m, 2h or 30d, longer than 0",
  read: (value) => readDuration(value) || undefined,
};

export const wait: Value<number> = {
  ...duration,
  expected: "a time such as 500ms, 30s, 10m or 2h, or 0",
  read: (value) => (value === "0" ? 0 : readDuration(value)),
};

function readDuration(value: string): number | undefined {
  const [, amount, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(value) ?? [];
  const factor = unitMs[unit ?? ""];
  return factor === undefined ? undefined : Math.round(Number(amount) * factor);
}

/** Deno's way of writing several in one: `a,b`, and `,,` for a comma that belongs to the value. */
export function list(item: Value<string>): Value<readonly string[]> {
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
