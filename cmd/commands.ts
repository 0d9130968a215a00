import { helpFlag, json, policyFlags, proxyFlags, runFlags, type Flags } from "./flags.ts";
import * as value from "./values.ts";
import type { Value } from "./values.ts";

/**
 * An argument that is known by its place. Only the last ones may be optional. With `line` it is a whole command line,
 * which takes everything behind `--`, and is the command's only argument.
 */
export type Positional = {
  readonly value: Value<unknown>;
  readonly about: string;
  readonly optional?: true;
  readonly line?: true;
};
export type Positionals = { readonly [name: string]: Positional };

export type Example = { readonly line: string; readonly about: string };

export type Command = {
  /** One line, for the list of commands. */
  readonly about: string;
  /** More, for the command's own page. */
  readonly details?: string;
  readonly positionals: Positionals;
  readonly flags: Flags;
  /** It does a task with a model, as other agents do: their words for flags and commands are answered with its own. */
  readonly runsModel?: true;
  /** Of each set at most one may be given; names of flags and of positionals. */
  readonly exclusive?: readonly (readonly string[])[];
  /** Of each set at least one has to be given; names of flags and of positionals. */
  readonly atLeastOne?: readonly (readonly string[])[];
  /** A flag that says nothing without the other. */
  readonly needs?: readonly { readonly flag: string; readonly other: string }[];
  /** Flags that only go with one value of another. */
  readonly onlyWith?: readonly { readonly flag: string; readonly other: string; readonly value: string }[];
  readonly examples: readonly Example[];
};

/** Or --last. */
const optionalId = {
  id: { value: value.sessionId, about: "A session, or the beginning of its id", optional: true },
} as const;
const last = { last: { group: "Session", about: "This directory's latest session" } } as const satisfies Flags;
const limit = (standard: string) =>
  ({ limit: { short: "n", value: value.count, group: "Output", about: "How many at most", standard } }) as const;
const id = { id: { value: value.sessionId, about: "A session, or the beginning of its id" } } as const;

/** Every command by the words that call it. Help, completions, the parser and the dispatcher all read this table. */
export const commands = {
  exec: {
    about: "Do one task to its end, without asking a question",
    details:
      "The prompt is one argument, or the content of a file (-f FILE), or stdin (-). Piped input is appended to it; in a loop that reads its own stdin, --stdin ignore leaves that alone. The final answer goes to stdout, everything for people to stderr.",
    positionals: {
      prompt: {
        value: { ...value.sentence("PROMPT"), ifEmpty: "The prompt is empty: say what to do" },
        about: "The task, in quotes; - reads it from stdin",
        optional: true,
      },
    },
    flags: runFlags,
    runsModel: true,
    exclusive: [
      ["prompt", "file"],
      ["session", "resume", "last", "fork", "ephemeral"],
      ["record", "replay"],
      ["quiet", "verbose"],
      // Nothing would hold commands to it.
      ["no-sandbox", "net"],
      ["no-sandbox", "deny-net"],
    ],
    needs: [{ flag: "replay-loose", other: "replay" }],
    onlyWith: [{ flag: "stream", other: "output", value: "text" }],
    examples: [
      { line: 'koda exec "make the tests pass"', about: "One task in this directory" },
      { line: 'npm test 2>&1 | koda exec "why does this fail?"', about: "Ask about what a command prints" },
      { line: 'koda exec --last "now write the changelog"', about: "Go on where the last run here stopped" },
      { line: 'koda exec --json "fix the lint errors" | jq -r .type', about: "Follow the run as events" },
      { line: 'koda exec --mode plan --timeout 10m -o review.md "review src/"', about: "Read only, with a limit" },
      { line: "koda exec -m demo", about: "See it work, without a key and without a network" },
    ],
  },
  "session list": {
    about: "List sessions, newest first",
    positionals: {},
    flags: {
      here: { group: "Session", about: "Only this directory's sessions" },
      ...limit("30, or all with --json"),
      ...json,
      ...helpFlag,
    },
    examples: [
      { line: "koda session list --here -n 5", about: "The five latest of this directory" },
      { line: "koda session list --json | jq -r '.[0].id'", about: "The id of the latest session" },
    ],
  },
  "session show": {
    about: "Show what was said and done in a session",
    positionals: optionalId,
    flags: { ...last, ...json, ...helpFlag },
    exclusive: [["id", "last"]],
    atLeastOne: [["id", "last"]],
    examples: [{ line: "koda session show 019a9c3e", about: "The beginning of an id will do when it is unique" }],
  },
  "session export": {
    about: "Write a session to stdout as a document",
    positionals: optionalId,
    flags: {
      ...last,
      format: {
        value: value.oneOf("markdown", "html", "jsonl"),
        group: "Output",
        about: "The document's format",
        standard: "markdown",
      },
      json: { means: { flag: "format", value: "jsonl" }, group: "Output", about: "Short for --format jsonl" },
      ...helpFlag,
    },
    exclusive: [["id", "last"]],
    atLeastOne: [["id", "last"]],
    examples: [{ line: "koda session export 019a9c3e --format html > session.html", about: "One self-contained page" }],
  },
  "session search": {
    about: "Find sessions by what was said in them",
    positionals: { query: { value: value.sentence("QUERY"), about: "Words to look for" } },
    flags: { ...limit("20"), ...json, ...helpFlag },
    examples: [
      { line: 'koda session search "race condition"', about: "Items with both words, or else with one of them" },
    ],
  },
  "session rm": {
    about: "Delete a session and its outputs",
    positionals: id,
    flags: { ...json, ...helpFlag },
    examples: [{ line: "koda session rm 019a9c3e", about: "It cannot be brought back" }],
  },
  "session prune": {
    about: "Delete sessions not used recently",
    positionals: {},
    flags: {
      "older-than": { value: value.age, required: true, group: "General", about: "Those not used for so long" },
      "dry-run": { group: "General", about: "Only show what would be deleted" },
      ...json,
      ...helpFlag,
    },
    examples: [{ line: "koda session prune --older-than 30d", about: "Keep one month" }],
  },
  sandbox: {
    about: "Run a command in the sandbox that the model's commands get",
    details:
      "The command has koda's terminal, input and output, and its exit code is koda's. What it leaves running is killed. docs/sandbox.md says what holds, and how to see it for yourself.",
    positionals: {
      command: {
        value: value.program,
        about: "A program and its arguments; nothing in them is interpreted",
        line: true,
      },
    },
    flags: {
      ...policyFlags,
      json: { group: "Output", about: "First print what is enforced to stderr, as one line of JSON" },
      ...helpFlag,
    },
    examples: [
      { line: "koda sandbox -- sh -c 'echo x > ~/x'", about: "Nothing outside the project can be written" },
      { line: "koda sandbox -- bash", about: "Look around in it" },
      { line: "koda sandbox --json -- true 2>&1 | jq .missed", about: "Why a stronger sandbox is not available" },
    ],
  },
  proxy: {
    about: "Run the two egress proxies alone",
    details:
      "An HTTP and a SOCKS5 proxy with the rules that the model's commands get. Prints the lines to export once both listen, then one line per request on stderr, until it is stopped.",
    positionals: {},
    flags: proxyFlags,
    examples: [
      { line: "koda proxy --allow-net example.com", about: "The hosts of development, and one more" },
      { line: "koda proxy --listen 127.0.0.1:3128 --socks-listen 127.0.0.1:1080", about: "On ports of your choice" },
    ],
  },
  models: {
    about: "List providers and models, and which can be used from here",
    positionals: {},
    flags: { ...json, ...helpFlag },
    examples: [{ line: "koda models", about: "What -m accepts, which keys are set, which local servers answer" }],
  },
  doctor: {
    about: "Check everything a run needs, and say how to fix what is missing",
    positionals: {},
    flags: {
      config: { group: "General", about: "Show each configuration value and where it comes from" },
      ...json,
      ...helpFlag,
    },
    examples: [
      { line: "koda doctor", about: "Exit 0 when a run would work, else 1" },
      { line: "koda doctor --config", about: "Which file or variable set what" },
    ],
  },
  completions: {
    about: "Print a completion script for a shell",
    positionals: {
      shell: { value: { ...value.oneOf("bash", "zsh", "fish"), placeholder: "SHELL" }, about: "The shell" },
    },
    flags: helpFlag,
    examples: [
      { line: `echo 'eval "$(koda completions bash)"' >> ~/.bashrc`, about: "bash" },
      { line: `echo 'eval "$(koda completions zsh)"' >> ~/.zshrc`, about: "zsh" },
      {
        line: "mkdir -p ~/.config/fish/completions && koda completions fish > ~/.config/fish/completions/koda.fish",
        about: "fish",
      },
    ],
  },
} as const satisfies Readonly<Record<string, Command>>;

/** Words that only lead to other commands. */
export const families: Readonly<Record<string, string>> = {
  session: "List, show, export, search and delete sessions",
};

export type CommandName = keyof typeof commands;
