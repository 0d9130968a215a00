import { httpUrl, serverUrl, variableName } from "../lib/config/types.ts";
import { branchProblem } from "../lib/fleet/list/gitnames.ts";
import { longestTimeoutMs, parseDuration } from "../lib/config/units.ts";

/** The type of a flag's value or of an argument: its name in the help, the texts it accepts, its completions. */
export type ArgumentType<T> = {
  /** `FILE` in help. */
  readonly placeholder: string;
  /** Completes "expected …" in messages. */
  readonly expected: string;
  /** Undefined when the text is not of this type. */
  readonly read: (text: string) => T | undefined;
  readonly choices?: readonly string[];
  readonly completes?: "file" | "directory" | "program" | DynamicCompletion;
  /** Messages do not repeat a refused value, since it may be a key in the wrong place. */
  readonly secret?: true;
  /** Usually several words, which need quotes. */
  readonly sentence?: true;
  /** As an argument, `-1` is a wrong number and no flag. */
  readonly isNumber?: true;
  /** A message for an empty value, instead of "expected …". */
  readonly ifEmpty?: string;
};

/** Completions that only koda knows: shells get them from `koda __complete KIND`. */
export const dynamicCompletions = ["models", "providers", "sessions", "tools", "servers", "agents", "batches"] as const;
export type DynamicCompletion = (typeof dynamicCompletions)[number];

export function text(placeholder: string): ArgumentType<string> {
  const article = /^[AEIO]/.test(placeholder) ? "an" : "a";
  return { placeholder, expected: `${article} ${placeholder.toLowerCase()}`, read: (value) => value };
}

export function sentence(placeholder: string): ArgumentType<string> {
  return { ...text(placeholder), sentence: true };
}

export const file: ArgumentType<string> = { ...text("FILE"), expected: "the name of a file", completes: "file" };
export const directory: ArgumentType<string> = {
  ...text("DIR"),
  expected: "the name of a directory",
  completes: "directory",
};

export const revision: ArgumentType<string> = { ...text("REV"), expected: "a branch, a tag or a commit" };

export const branch: ArgumentType<string> = {
  ...text("BRANCH"),
  expected: "the name of a branch",
  read: (value) => (branchProblem(value) === undefined ? value : undefined),
};

export const shellCommand: ArgumentType<string> = {
  ...sentence("CMD"),
  expected: "a command for the shell",
  read: (value) => (value.trim() === "" ? undefined : value),
};

export const program: ArgumentType<string> = { ...text("CMD"), expected: "a program", completes: "program" };

export const model: ArgumentType<string> = {
  ...matching("NAME", /^(?!\s|[^/]*\/$).*\S$/s, "a name, as in openai/gpt-5"),
  completes: "models",
};
export const agent: ArgumentType<string> = { ...text("NAME"), completes: "agents" };
export const provider: ArgumentType<string> = { ...text("PROVIDER"), completes: "providers" };
export const tool: ArgumentType<string> = { ...text("NAME"), completes: "tools" };

export const path: ArgumentType<string> = {
  ...text("PATH"),
  expected: "the name of a file or directory",
  completes: "file",
};

/** lib/egress checks the pattern. */
export const host: ArgumentType<string> = {
  ...text("PATTERN"),
  expected: "a host, as in *.example.com or example.com:22",
};

export function oneOf<const T extends string>(...choices: readonly T[]): ArgumentType<T> {
  return {
    placeholder: choices.join("|"),
    expected: choices.join(", ").replace(/, ([^,]+)$/, " or $1"),
    read: (value) => choices.find((choice) => choice === value),
    choices,
  };
}

function matching(placeholder: string, pattern: RegExp, expected: string): ArgumentType<string> {
  return { placeholder, expected, read: (value) => (pattern.test(value) ? value : undefined) };
}

export const sessionName: ArgumentType<string> = {
  ...matching("ID", /^[A-Za-z0-9._-]{1,64}$/, "1 to 64 of the characters A-Z a-z 0-9 . _ -"),
  completes: "sessions",
};
/** The id of an existing session, or a prefix of it; the store checks it. */
export const sessionId: ArgumentType<string> = { ...text("ID"), completes: "sessions" };
/** lib/config checks the key. The value may be a secret. */
export const setting: ArgumentType<string> = {
  ...matching("KEY=VALUE", /^[^=].*=/s, "KEY=VALUE, as in limits.max_turns=50"),
  secret: true,
};

/** The name of an MCP server that there is, or of a new one; lib/config checks it. */
export const server: ArgumentType<string> = { ...text("NAME"), completes: "servers" };
export const newServer: ArgumentType<string> = text("NAME");
/** The value may be a secret. */
export const assignment: ArgumentType<Named> = {
  ...pair("NAME=VALUE", /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s),
  expected: "NAME=VALUE, as in TOKEN=${FILES_TOKEN}",
};
/** As it is on the wire, or with an equals sign. */
export const header: ArgumentType<Named> = {
  ...pair("NAME=VALUE", /^([^\s=:]+)(?:=|:\s*)(.+)$/s),
  expected: "NAME=VALUE, as in Authorization=Bearer ${WEB_TOKEN}",
};

type Named = { readonly name: string; readonly text: string };

function pair(placeholder: string, pattern: RegExp) {
  const read = (given: string): Named | undefined => {
    const [whole, name = "", text = ""] = pattern.exec(given) ?? [];
    return whole === undefined ? undefined : { name, text };
  };
  return { placeholder, read, secret: true } as const;
}

export const url: ArgumentType<string> = { placeholder: "URL", ...httpUrl };
/** `${VAR}` in it is replaced later. */
export const serverAddress: ArgumentType<string> = { placeholder: "URL", ...serverUrl };
export const variable: ArgumentType<string> = { placeholder: "NAME", ...variableName };

/** IPv6 addresses are in brackets, as in a URL. */
export const listenAddress: ArgumentType<{ host: string; port: number }> = {
  placeholder: "HOST:PORT",
  expected: "a host and a port, as in 127.0.0.1:3128 or [::1]:0",
  read: (text) => {
    const [, bracketed, plain, port] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
    const host = bracketed ?? plain;
    return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
  },
};

export const count: ArgumentType<number> = {
  placeholder: "N",
  expected: "a positive integer",
  read: (value) => (/^\d{1,15}$/.test(value) && Number(value) >= 1 ? Number(value) : undefined),
};

export const retries: ArgumentType<number> = {
  placeholder: "N",
  expected: "an integer, 0 or more",
  read: (value) => (/^\d{1,3}$/.test(value) ? Number(value) : undefined),
};

export const shard: ArgumentType<{ index: number; of: number }> = {
  placeholder: "I/N",
  expected: "a part and the number of parts, such as 1/8 or 8/8",
  read: (text) => {
    const [, index = NaN, of = NaN] = /^(\d{1,5})\/(\d{1,5})$/.exec(text)?.map(Number) ?? [];
    return index >= 1 && index <= of ? { index, of } : undefined;
  },
};

/** The id of a batch, or a prefix of it; the store checks it. */
export const batchId: ArgumentType<string> = { ...text("ID"), completes: "batches" };

/** It may have a password. */
export const store: ArgumentType<string> = {
  placeholder: "URL",
  expected: "a URL such as postgres://koda@db.example.com/koda",
  read: (text) => (/^postgres(?:ql)?:\/\//.test(text) ? text : undefined),
  secret: true,
};

/** Zero is refused with a message of its own. */
export const turns: ArgumentType<number> = {
  placeholder: "N",
  expected: "a number of turns, 1 or more",
  isNumber: true,
  read: (value) => (/^\d{1,15}$/.test(value) ? Number(value) : undefined),
};

export const fraction: ArgumentType<number> = {
  placeholder: "N",
  expected: "a non-negative number",
  read: (value) => (/^\d+(\.\d+)?$/.test(value) ? Number(value) : undefined),
};

export const money: ArgumentType<number> = {
  placeholder: "USD",
  expected: "a positive number of US dollars, as in 2.50",
  read: (value) => (/^\d{1,9}(\.\d{1,9})?$/.test(value) && Number(value) > 0 ? Number(value) : undefined),
};

/** A time limit in milliseconds that a timer can count. */
export const duration: ArgumentType<number> = {
  placeholder: "DURATION",
  expected: "a time such as 500ms, 30s, 10m or 2h (at most 24 days)",
  read: (value) => timeWithin(value, 1, longestTimeoutMs),
};

export const wait: ArgumentType<number> = { ...duration, read: (value) => timeWithin(value, 0, longestTimeoutMs) };

/** May be longer than a timer can count. */
export const age: ArgumentType<number> = {
  placeholder: "AGE",
  expected: "a time such as 12h or 30d",
  read: (value) => timeWithin(value, 1, Infinity),
};

function timeWithin(value: string, leastMs: number, mostMs: number): number | undefined {
  const ms = parseDuration(value);
  return ms !== undefined && ms >= leastMs && ms <= mostMs ? ms : undefined;
}

/** Several values in one, as in Deno: `a,b`, with `,,` for a comma in a value. */
export function list<T>(item: ArgumentType<T>): ArgumentType<readonly T[]> {
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
