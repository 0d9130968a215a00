import { modes, wires } from "../lib/config/config.ts";
import { egress, places, rights } from "./policyflags.ts";
import * as value from "./values.ts";
import type { Value } from "./values.ts";

/** One flag, as the parser, the help and the shell completions see it. Without `value` it is a switch. */
export type Flag = {
  readonly group: Group;
  readonly about: string;
  /** What holds when neither this flag nor the configuration says anything. */
  readonly standard?: string;
  readonly short?: string;
  /** Other spellings that are taken for it, and are not advertised. */
  readonly aliases?: readonly string[];
  readonly value?: Value<unknown>;
  /** May be given again; all values count. */
  readonly many?: true;
  readonly required?: true;
  /** Short for another flag with this value. */
  readonly means?: { readonly flag: string; readonly value: string };
};

export type Flags = { readonly [name: string]: Flag };

/** The headings of a help page, in their order there. */
export const groups = [
  "Input",
  "Model",
  "Trust",
  "Session",
  "Output",
  "Limits",
  "Record and replay",
  "General",
] as const;
export type Group = (typeof groups)[number];

export const helpFlag = {
  help: { short: "h", group: "General", about: "Show this help" },
} as const satisfies Flags;

export const rootFlags = {
  ...helpFlag,
  version: { short: "V", group: "General", about: "Print the version" },
} as const satisfies Flags;

export const json = {
  json: { group: "Output", about: "Print JSON for scripts" },
} as const satisfies Flags;

const input = {
  file: { short: "f", value: value.file, group: "Input", about: "Read the prompt from FILE" },
  image: {
    short: "i",
    value: value.file,
    many: true,
    group: "Input",
    about: "Show the model an image; may be repeated",
  },
  stdin: {
    value: value.oneOf("auto", "append", "require", "ignore"),
    group: "Input",
    about:
      "How to use stdin when a prompt is given. auto reads a file or a pipeline to its end, and a pipe that only a parent process holds when something comes within 3 s; append and require read to the end; ignore leaves it unread",
    standard: "auto",
  },
} as const satisfies Flags;

const model = {
  model: {
    short: "m",
    value: value.model,
    group: "Model",
    about: "PROVIDER/MODEL, or a model of the configured provider; also KODA_MODEL. `demo` needs no key and no network",
  },
  "base-url": { value: value.url, group: "Model", about: "An OpenAI-compatible endpoint" },
  "api-key-env": { value: value.variable, group: "Model", about: "The environment variable that holds its key" },
  wire: { value: value.oneOf(...wires), group: "Model", about: "The protocol it speaks" },
  "reasoning-effort": {
    value: value.oneOf("low", "medium", "high"),
    group: "Model",
    about: "Passed on to a model that takes it",
  },
  temperature: { value: value.fraction, group: "Model", about: "Passed on to a model that takes it" },
  "max-output-tokens": { value: value.count, group: "Model", about: "The longest reply, in tokens" },
} as const satisfies Flags;

const trust = {
  ...places,
  mode: {
    value: value.oneOf(...modes),
    group: "Trust",
    about:
      "What may run without approval: plan only reads, and the sandbox keeps the project read-only; safe only reads, and denies what would need approval; auto works inside the project",
    standard: "auto",
  },
  "allow-tool": {
    value: value.list(value.tool),
    many: true,
    group: "Trust",
    about: "Give the run this tool and no other; may be repeated",
  },
  "deny-tool": {
    value: value.list(value.tool),
    many: true,
    group: "Trust",
    about: "Take this tool away, whatever --allow-tool says; may be repeated",
  },
  ...rights,
} as const satisfies Flags;

const session = {
  session: { value: value.sessionName, group: "Session", about: "Open the session with this id, or create it" },
  resume: { value: value.sessionId, group: "Session", about: "Continue a session; the beginning of its id will do" },
  last: { group: "Session", about: "Continue this directory's latest session" },
  fork: { value: value.sessionId, group: "Session", about: "Start a new session from a copy of this one" },
  ephemeral: { group: "Session", about: "Write no session" },
  wait: {
    value: value.wait,
    group: "Session",
    about: "How long to wait for a session that another process holds",
    standard: "0",
  },
} as const satisfies Flags;

const output = {
  output: {
    value: value.oneOf("text", "json", "jsonl"),
    group: "Output",
    about: "text: the final answer; json: one object at the end; jsonl: one event a line",
    standard: "text",
  },
  json: { means: { flag: "output", value: "jsonl" }, group: "Output", about: "Short for --output jsonl" },
  "output-last-message": {
    short: "o",
    value: value.file,
    group: "Output",
    about: "Write the final answer to FILE (- is stdout); a run that fails removes FILE",
  },
  "output-schema": {
    value: value.file,
    group: "Output",
    about: "A JSON Schema that the final answer must match",
  },
  stream: { group: "Output", about: "Write text as it comes, also into a pipe" },
  "print-schema": { group: "Output", about: "Print the JSON Schema of the jsonl events and exit" },
  quiet: { short: "q", group: "Output", about: "Nothing but errors and safety warnings on stderr" },
  verbose: { short: "v", group: "Output", about: "Thinking and whole tool inputs too on stderr" },
  color: {
    value: value.oneOf("auto", "always", "never"),
    group: "Output",
    about: "Colours on stderr; auto also respects NO_COLOR",
    standard: "auto",
  },
} as const satisfies Flags;

const limits = {
  "max-turns": { value: value.count, group: "Limits", about: "Model requests", standard: "200" },
  "max-tokens": { value: value.count, group: "Limits", about: "Input and output tokens together" },
  timeout: { value: value.duration, group: "Limits", about: "Wall-clock time of the whole run" },
  "idle-timeout": {
    value: value.duration,
    group: "Limits",
    about: "Time without a byte from the model or a tool",
  },
  "max-command-time": {
    value: value.duration,
    group: "Limits",
    about: "The longest that one command may run",
    standard: "300s",
  },
  "fail-on": {
    value: value.list(value.oneOf("denied", "tool-error")),
    many: true,
    group: "Limits",
    about: "Exit 3 when a call was denied, or failed; may be repeated",
  },
} as const satisfies Flags;

const cassette = {
  record: {
    value: value.file,
    group: "Record and replay",
    about: "Write all model traffic to FILE; keys never get into it",
  },
  replay: {
    value: value.file,
    group: "Record and replay",
    about: "Take the model's replies from FILE, offline and without a key",
  },
  "replay-loose": {
    group: "Record and replay",
    about: "A request that differs from the recorded one is only a notice",
  },
} as const satisfies Flags;

const configuration = {
  config: {
    value: value.setting,
    many: true,
    group: "General",
    about: "One configuration value for this run; may be repeated",
  },
  bare: { group: "General", about: "Read no configuration and no instructions of the user's or the project's" },
} as const satisfies Flags;

/** The flags of what runs a command and no model. */
export const policyFlags = {
  ...places,
  mode: {
    value: value.oneOf(...modes),
    group: "Trust",
    about: "In plan the project is read-only",
    standard: "auto",
  },
  ...rights,
  config: configuration.config,
  bare: { ...configuration.bare, about: "Read no configuration of the user's or the project's" },
} as const satisfies Flags;

/** The flags of everything that runs a model. */
export const runFlags = {
  ...input,
  ...model,
  ...trust,
  ...session,
  ...output,
  ...limits,
  ...cassette,
  ...configuration,
  ...helpFlag,
} as const satisfies Flags;

/** The flags of the two proxies on their own. */
export const proxyFlags = {
  ...egress,
  listen: {
    value: value.place,
    group: "General",
    about: "Where the HTTP proxy listens; with port 0 the system chooses one",
    standard: "127.0.0.1:0",
  },
  "socks-listen": {
    value: value.place,
    group: "General",
    about: "Where the SOCKS5 proxy listens",
    standard: "127.0.0.1:0",
  },
  ...json,
  ...helpFlag,
} as const satisfies Flags;
