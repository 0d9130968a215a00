import { modes, wires } from "../lib/config/config.ts";
import { egress, places, rights } from "./policyflags.ts";
import * as value from "./values.ts";
import type { ArgumentType } from "./values.ts";

/** A flag, for the parser, the help and the shell completions. Without `value` it is a switch. */
export type Flag = {
  readonly group: Group;
  readonly about: string;
  /** The default, when the configuration does not set it either. */
  readonly default?: string;
  readonly short?: string;
  /** Other accepted spellings, not shown in the help. */
  readonly aliases?: readonly string[];
  readonly value?: ArgumentType<unknown>;
  /** May be repeated; all values count. */
  readonly many?: true;
  readonly required?: true;
  /** Short for another flag with this value. */
  readonly means?: { readonly flag: string; readonly value: string };
};

export type Flags = { readonly [name: string]: Flag };

/** The headings of a help page, in order. */
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
type Group = (typeof groups)[number];

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
    about: "Attach an image; may be repeated",
  },
  stdin: {
    value: value.oneOf("auto", "append", "require", "ignore"),
    group: "Input",
    about:
      "How to use stdin when a prompt is given. auto appends a file or a pipeline, and waits up to 3 s for a pipe " +
      "that only a parent process holds open; append and require read to the end; ignore reads nothing",
    default: "auto",
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
    about: "Sent to models that support it",
  },
  temperature: { value: value.fraction, group: "Model", about: "Sent to models that support it" },
  "max-output-tokens": { value: value.count, group: "Model", about: "The longest reply, in tokens" },
} as const satisfies Flags;

const trust = {
  ...places,
  mode: {
    value: value.oneOf(...modes),
    group: "Trust",
    about:
      "The calls that may run without approval. plan and safe: only reads, and in plan the sandbox makes the project " +
      "read-only; auto: everything inside the project",
    default: "auto",
  },
  "allow-tool": {
    value: value.list(value.tool),
    many: true,
    group: "Trust",
    about: "Use only this tool; may be repeated",
  },
  "deny-tool": {
    value: value.list(value.tool),
    many: true,
    group: "Trust",
    about: "Remove this tool, even if --allow-tool names it; may be repeated",
  },
  ...rights,
} as const satisfies Flags;

const session = {
  session: { value: value.sessionName, group: "Session", about: "Open the session with this id, or create it" },
  resume: {
    value: value.sessionId,
    group: "Session",
    about: "Continue a session; a unique prefix of its id is enough",
  },
  last: { group: "Session", about: "Continue this directory's latest session" },
  fork: { value: value.sessionId, group: "Session", about: "Start a new session from a copy of this one" },
  ephemeral: { group: "Session", about: "Do not store the session" },
  wait: {
    value: value.wait,
    group: "Session",
    about: "Wait this long for a session that another process holds",
    default: "0",
  },
} as const satisfies Flags;

const output = {
  output: {
    value: value.oneOf("text", "json", "jsonl"),
    group: "Output",
    about: "text: the final answer; json: one object at the end; jsonl: one event a line",
    default: "text",
  },
  json: { means: { flag: "output", value: "jsonl" }, group: "Output", about: "Short for --output jsonl" },
  "output-last-message": {
    short: "o",
    value: value.file,
    group: "Output",
    about: "Write the final answer to FILE (- is stdout); a failed run removes FILE",
  },
  "output-schema": {
    value: value.file,
    group: "Output",
    about: "A JSON Schema that the final answer must match",
  },
  stream: { group: "Output", about: "Write text as it comes, even into a pipe" },
  "print-schema": { group: "Output", about: "Print the JSON Schema of the jsonl events and exit" },
  quiet: { short: "q", group: "Output", about: "Show only errors and safety warnings on stderr" },
  verbose: { short: "v", group: "Output", about: "Show thinking and whole tool inputs on stderr" },
  color: {
    value: value.oneOf("auto", "always", "never"),
    group: "Output",
    about: "Colours on stderr; auto respects NO_COLOR",
    default: "auto",
  },
} as const satisfies Flags;

const limits = {
  "max-turns": { value: value.count, group: "Limits", about: "Model requests", default: "200" },
  "max-tokens": { value: value.count, group: "Limits", about: "Input and output tokens together" },
  timeout: { value: value.duration, group: "Limits", about: "Wall-clock time of the whole run" },
  "idle-timeout": {
    value: value.duration,
    group: "Limits",
    about: "Time without output from the model or a tool",
  },
  "max-command-time": {
    value: value.duration,
    group: "Limits",
    about: "Time of one command",
    default: "300s",
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
    about: "Write all model traffic to FILE, without keys",
  },
  replay: {
    value: value.file,
    group: "Record and replay",
    about: "Take the model's replies from FILE, offline and without a key",
  },
  "replay-loose": {
    group: "Record and replay",
    about: "Only report a request that differs from the recorded one",
  },
} as const satisfies Flags;

const configuration = {
  config: {
    value: value.setting,
    many: true,
    group: "General",
    about: "Set one configuration value for this run; may be repeated",
  },
  bare: { group: "General", about: "Ignore the configuration and instructions of the user and the project" },
} as const satisfies Flags;

/** The flags of a command that runs no model. */
export const policyFlags = {
  ...places,
  mode: {
    value: value.oneOf(...modes),
    group: "Trust",
    about: "plan makes the project read-only",
    default: "auto",
  },
  ...rights,
  config: configuration.config,
  bare: { ...configuration.bare, about: "Ignore the configuration of the user and the project" },
} as const satisfies Flags;

/** The flags of a command that runs a model. */
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

/** The flags of `koda proxy`. */
export const proxyFlags = {
  ...egress,
  listen: {
    value: value.listenAddress,
    group: "General",
    about: "The address of the HTTP proxy; port 0 lets the system choose one",
    default: "127.0.0.1:0",
  },
  "socks-listen": {
    value: value.listenAddress,
    group: "General",
    about: "The address of the SOCKS5 proxy",
    default: "127.0.0.1:0",
  },
  ...json,
  ...helpFlag,
} as const satisfies Flags;
