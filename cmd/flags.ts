import { editDialects, modes, wires } from "../lib/config/config.ts";
import { reportFormats } from "../lib/review/formats.ts";
import { severities } from "../lib/review/severity.ts";
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

/** The flags of one heading. */
export function grouped<const F extends { readonly [name: string]: Omit<Flag, "group"> }>(group: Group, flags: F) {
  const entries = Object.entries(flags).map(([name, flag]) => [name, { ...flag, group }]);
  // Object.fromEntries loses the names.
  return Object.fromEntries(entries) as { readonly [K in keyof F]: F[K] & { readonly group: Group } };
}

/** A flag with a list of values, which may be repeated. */
function repeated<T>(item: ArgumentType<T>) {
  return { value: value.list(item), many: true } as const;
}

export const helpFlag = grouped("General", { help: { short: "h", about: "Show this help" } });

export const rootFlags = {
  ...helpFlag,
  ...grouped("General", {
    version: { short: "V", about: "Print the version; with --json also its commit, target and hash" },
  }),
} as const satisfies Flags;

export const json = grouped("Output", { json: { about: "Print JSON for scripts" } });

const input = grouped("Input", {
  file: { short: "f", value: value.file, about: "Read the prompt from FILE" },
  image: { short: "i", value: value.file, many: true, about: "Attach an image" },
  stdin: {
    value: value.oneOf("auto", "append", "require", "ignore"),
    about:
      "How to use stdin when a prompt is given. auto appends a file or a pipeline, and adds what comes " +
      "later from a pipe that only a parent process holds open; append and require read to the end; ignore reads nothing",
    default: "auto",
  },
});

const model = grouped("Model", {
  model: {
    short: "m",
    value: value.model,
    about: "PROVIDER/MODEL, or a model of the configured provider; also KODA_MODEL. `demo` needs no key and no network",
  },
  agent: { value: value.agent, about: "Run as this agent, with its prompt, tools and mode; koda doctor lists them" },
  "base-url": { value: value.url, about: "An OpenAI-compatible endpoint" },
  "api-key-env": { value: value.variable, about: "The environment variable that holds its key" },
  wire: { value: value.oneOf(...wires), about: "The protocol it speaks" },
  "reasoning-effort": { value: value.oneOf("low", "medium", "high"), about: "Sent to models that support it" },
  temperature: { value: value.fraction, about: "Sent to models that support it" },
  "max-output-tokens": { value: value.count, about: "The longest reply, in tokens" },
  edit: {
    value: value.oneOf(...editDialects),
    about: "The editing tool: edit replaces texts, patch takes a patch for any number of files",
    default: "patch for OpenAI's models",
  },
});

/** The hosts that commands may reach, through koda's proxies. */
const egress = grouped("Trust", {
  "allow-net": {
    ...repeated(value.host),
    aliases: ["allow-host"],
    about: "One more host that commands may reach, such as *.example.com or example.com:22",
  },
  "deny-net": {
    ...repeated(value.host),
    aliases: ["deny-host"],
    about: "A host that commands may not reach, even if it is allowed",
  },
  net: {
    value: value.oneOf("allowlist", "none", "open"),
    about: "The hosts that commands may reach: those of development and of --allow-net, none, or every public host",
    default: "allowlist",
  },
});

/** The project and what commands may touch: the same for a run and for `koda sandbox`. */
const access = {
  ...grouped("Trust", {
    cd: { short: "C", value: value.directory, about: "The project's root", default: "the current directory" },
    "allow-write": { ...repeated(value.directory), aliases: ["add-dir"], about: "One more writable directory" },
    "allow-read": { ...repeated(value.path), about: "Make a hidden path readable, such as ~/.ssh" },
    "deny-read": { ...repeated(value.path), about: "Hide one more path" },
    "allow-git": { about: "Let commands commit in the project's repository; its hooks and settings stay protected" },
    "allow-config": { about: "Let the run change files that tell other tools what to run, such as .vscode and .envrc" },
  }),
  ...egress,
  ...grouped("Trust", {
    "allow-env": {
      ...repeated(value.variable),
      aliases: ["pass-env"],
      about: "Pass one more environment variable to commands",
    },
  }),
} as const satisfies Flags;

const sandbox = grouped("Trust", {
  "no-sandbox": { about: "Run commands with your own permissions, without kernel enforcement" },
});

/** For every command that reads the project's configuration. */
export const trust = grouped("Trust", {
  "trust-project": {
    about:
      "Use this project's own skills, prompts, agents, plugins and MCP servers, and let its configuration allow more, as yours does",
  },
});

const calls = grouped("Trust", {
  mode: {
    value: value.oneOf(...modes),
    about:
      "The calls that may run without approval. plan and safe: only reads, and in plan the sandbox makes the project " +
      "read-only; auto: everything inside the project",
    default: "auto",
  },
  "allow-tool": { ...repeated(value.tool), about: "Use only this tool" },
  "deny-tool": { ...repeated(value.tool), about: "Remove this tool, even if --allow-tool names it" },
});

const session = grouped("Session", {
  session: { value: value.sessionName, about: "Open the session with this id, or create it" },
  resume: { value: value.sessionId, about: "Continue a session; a unique prefix of its id is enough" },
  last: { about: "Continue this directory's latest session" },
  fork: { value: value.sessionId, about: "Start a new session from a copy of this one" },
  ephemeral: { about: "Do not store the session" },
  wait: { value: value.wait, about: "Wait this long for a session that another process holds", default: "0" },
});

const output = grouped("Output", {
  output: {
    value: value.oneOf("text", "json", "jsonl"),
    about: "text: the final answer; json: one object at the end; jsonl: one event a line",
    default: "text",
  },
  json: { means: { flag: "output", value: "jsonl" }, about: "Short for --output jsonl" },
  "output-last-message": {
    short: "o",
    value: value.file,
    about: "Write the final answer to FILE (- is stdout); a failed run removes FILE",
  },
  patch: { value: value.file, about: "Write everything that the run changed in the project to FILE, for git apply" },
  "output-schema": { value: value.file, about: "A JSON Schema that the final answer must match" },
  stream: { about: "Write text as it comes, even into a pipe" },
  "print-schema": { about: "Print the JSON Schema of the jsonl events and exit" },
  quiet: { short: "q", about: "Show only errors and safety warnings on stderr" },
  verbose: { short: "v", about: "Show thinking and whole tool inputs on stderr" },
  color: {
    value: value.oneOf("auto", "always", "never"),
    about: "Colours on stderr; auto respects NO_COLOR",
    default: "auto",
  },
});

const limits = grouped("Limits", {
  "max-turns": { value: value.count, about: "Model requests", default: "200" },
  "max-tokens": { value: value.count, about: "Input and output tokens together" },
  "max-cost": { value: value.money, about: "Cost of the model in US dollars; its price must be known" },
  timeout: { value: value.duration, about: "Wall-clock time of the whole run" },
  "idle-timeout": { value: value.duration, about: "Time without output from the model or a tool" },
  "wait-limit": {
    value: value.wait,
    about: "Longest wait for the provider's limit to reset; a longer one ends the run with exit 9",
    default: "0",
  },
  "max-command-time": { value: value.duration, about: "Time of one command", default: "300s" },
  verify: {
    value: value.shellCommand,
    about: "Run CMD in the sandbox on the answer; while it fails the model goes on, and exit 8 if it never passes",
  },
  "verify-attempts": { value: value.count, about: "The most runs of CMD", default: "3" },
  "fail-on": {
    ...repeated(value.oneOf("denied", "tool-error", "no-change", "incomplete")),
    about:
      "Exit 3 when a call was denied; when one failed; when no file of the project was changed; when the task may " +
      "not be finished",
  },
  finish: {
    value: value.oneOf("required"),
    about: "The run ends only when the model calls Finish, as done or as blocked; exit 3 when blocked or without it",
  },
});

const cassette = grouped("Record and replay", {
  record: { value: value.file, about: "Write all model traffic to FILE, without keys" },
  replay: { value: value.file, about: "Take the model's replies from FILE, offline and without a key" },
  "replay-loose": { about: "Only report a request that differs from the recorded one" },
});

/** For every command that reads the configuration of MCP servers. */
export const serverFiles = grouped("General", {
  "mcp-config": {
    value: value.file,
    many: true,
    about: "Use the MCP servers of FILE, which has the format of .mcp.json",
  },
});

const notify = grouped("General", {
  notify: {
    value: value.shellCommand,
    about: "Run CMD with your own rights, outside the sandbox, when a turn ends; it reads a JSON object",
  },
});

const configuration = grouped("General", {
  config: { value: value.setting, many: true, about: "Set one configuration value for this run" },
  ...serverFiles,
  bare: {
    about: "Ignore the configuration, instructions, skills, prompts, agents and plugins of the user and the project",
  },
});

/** The flags of a command that runs no model. */
export const policyFlags = {
  ...access,
  mode: { ...calls.mode, about: "plan makes the project read-only" },
  ...sandbox,
  ...trust,
  config: configuration.config,
  bare: { ...configuration.bare, about: "Ignore the configuration of the user and the project" },
} as const satisfies Flags;

/** The model, the rights and the session of everything that runs a model. */
const modelFlags = { ...model, ...access, ...calls, ...sandbox, ...trust, ...session } as const;
const generalFlags = { ...cassette, ...notify, ...configuration, ...helpFlag } as const;

/** The flags of a command that runs a model. */
export const runFlags = { ...input, ...modelFlags, ...output, ...limits, ...generalFlags } as const satisfies Flags;

const { color, quiet, verbose, "print-schema": printSchema } = output;
const { "fail-on": _, finish: __, ...chatLimits } = limits;

/** The flags of `koda chat`: those of a run, but for its input and its answer. */
export const chatFlags = {
  json: { group: "Output", about: "Read submissions and write events, one JSON object a line" },
  ...modelFlags,
  quiet,
  verbose,
  color,
  "print-schema": { ...printSchema, about: "Print the JSON Schemas of submissions and of events, and exit" },
  ...chatLimits,
  ...generalFlags,
} as const satisfies Flags;

const { cd: ____, ...ownAccess } = access;
const { ephemeral, wait } = session;

/** The flags of `koda acp`: those of a chat, but for what the client says. */
export const acpFlags = {
  ...model,
  ...ownAccess,
  ...calls,
  ...sandbox,
  ...trust,
  ephemeral,
  wait,
  ...chatLimits,
  ...notify,
  ...configuration,
  ...helpFlag,
} as const satisfies Flags;

/** The flags of a run that each task of a batch may have for itself. */
export const taskFlags = {
  ...model,
  ...ownAccess,
  ...calls,
  ...trust,
  ...limits,
  "output-schema": output["output-schema"],
} as const satisfies Flags;

const { "max-cost": _____, "max-tokens": ______, ...otherLimits } = limits;

/** The store of tasks. */
export const storeFlag = grouped("General", {
  store: {
    value: value.store,
    about:
      "The PostgreSQL database with the tasks; also KODA_STORE, which keeps a password out of the list of processes",
    default: "koda's own database on this machine",
  },
});

/** The list of tasks, and what holds for the whole batch. */
export const submitFlags = {
  ...grouped("Input", {
    repos: {
      value: value.file,
      about: "Instead of TASKS, one task for each line: a URL or a path, optionally followed by a ref",
    },
    prompt: { value: value.file, about: "The prompt of the tasks of --repos" },
    publish: {
      value: value.branch,
      about: "With --repos: push what each task changed to this branch of its repository",
    },
    shard: { value: value.shard, about: "Only part I of N of the list, such as 2/8; see docs/fleet.md" },
  }),
  ...grouped("Limits", {
    "max-cost": { value: value.money, about: "Cost of all tasks together in US dollars; prices must be known" },
    "max-tokens": { value: value.count, about: "Input and output tokens of all tasks together" },
    "task-max-cost": { value: value.money, about: "Cost of one attempt at a task" },
    "task-max-tokens": { value: value.count, about: "Input and output tokens of one attempt at a task" },
    retries: { value: value.retries, about: "Retries of a task whose provider was unavailable", default: "3" },
    "keep-going": { about: "Keep starting tasks after one has failed" },
    lease: { value: value.duration, about: "A worker that is silent for this long loses its tasks", default: "60s" },
  }),
  ...grouped("Output", {
    transcripts: {
      value: value.oneOf("none", "redacted", "full"),
      about: "What the store keeps of the conversations: without them, no other machine can continue a task",
      default: "redacted",
    },
  }),
  ...model,
  ...ownAccess,
  ...calls,
  ...trust,
  ...otherLimits,
  timeout: { ...limits.timeout, about: "Wall-clock time of one run of a task" },
  "output-schema": output["output-schema"],
  ...storeFlag,
  ...json,
  ...helpFlag,
} as const satisfies Flags;

/** How whoever works at tasks does it. */
export const workFlags = {
  ...grouped("General", {
    jobs: { short: "j", value: value.count, about: "Tasks at once", default: "1, as for make and xargs" },
    keep: { about: "Keep the directories that the tasks worked in" },
    "publish-command": {
      value: value.shellCommand,
      about:
        "Run CMD with your own permissions after a task's branch is pushed; it has KODA_BRANCH, KODA_COMMIT, KODA_BATCH, " +
        "KODA_KEY, KODA_REPO and KODA_TREE",
    },
  }),
  ...sandbox,
} as const satisfies Flags;

/** A review reads only, and its answer has a form of its own. */
const notForReview = [
  "file",
  "image",
  "stdin",
  "mode",
  "allow-write",
  "allow-git",
  "allow-config",
  "edit",
  "patch",
  "output-schema",
  "stream",
  "print-schema",
  "verify",
  "verify-attempts",
  "finish",
] as const;

/** The flags of `koda review`. */
export const reviewFlags = {
  ...grouped("Input", {
    uncommitted: { about: "Review staged, unstaged and untracked changes; this is the default" },
    base: { value: value.revision, about: "Review the commits of this branch that BASE does not have" },
    commit: { value: value.revision, about: "Review one commit" },
    target: { value: value.sentence("TEXT"), about: 'Review what TEXT names, such as "the error handling in src/"' },
  }),
  ...without(runFlags, notForReview),
  agent: { ...model.agent, about: "Review as this agent, in mode plan", default: "review" },
  "output-last-message": {
    ...output["output-last-message"],
    about: "Write the review to FILE (- is stdout); a failed run removes FILE",
  },
  ...grouped("Output", {
    format: {
      value: value.oneOf(...reportFormats),
      about:
        "text for people; json: the findings; sarif: for code scanning; github: annotations of GitHub Actions; gitlab: a " +
        "Code Quality report; junit: each finding is a failed test",
      default: "text",
    },
  }),
  ...grouped("Limits", {
    "fail-on-severity": { value: value.oneOf(...severities), about: "Exit 3 when a finding is at least as severe" },
  }),
} as const satisfies Flags;

function without<F extends Flags, N extends keyof F>(flags: F, names: readonly N[]): Omit<F, N> {
  const entries = Object.entries(flags).filter(([name]) => !names.some((each) => each === name));
  // Object.fromEntries loses the names.
  return Object.fromEntries(entries) as Omit<F, N>;
}

/** The flags of `koda proxy`. */
export const proxyFlags = {
  ...egress,
  ...trust,
  ...grouped("General", {
    listen: {
      value: value.listenAddress,
      about: "The address of the HTTP proxy; port 0 lets the system choose one",
      default: "127.0.0.1:0",
    },
    "socks-listen": { value: value.listenAddress, about: "The address of the SOCKS5 proxy", default: "127.0.0.1:0" },
  }),
  ...json,
  ...helpFlag,
} as const satisfies Flags;
