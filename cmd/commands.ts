import {
  acpFlags,
  chatFlags,
  grouped,
  helpFlag,
  json,
  policyFlags,
  proxyFlags,
  reviewFlags,
  runFlags,
  serverFiles,
  trust,
  type Flags,
} from "./flags.ts";
import * as value from "./values.ts";
import type { ArgumentType } from "./values.ts";

/**
 * A positional argument. Only the last ones may be optional. With `line`, which only the last may have, it is a whole
 * command line, which takes everything after `--`.
 */
export type Positional = {
  readonly value: ArgumentType<unknown>;
  readonly about: string;
  readonly optional?: true;
  readonly line?: true;
};
type Positionals = { readonly [name: string]: Positional };

export type Example = { readonly line: string; readonly about: string };

export type CommandSpec = {
  /** One line, for the list of commands. */
  readonly about: string;
  /** More, for the command's help page. */
  readonly details?: string;
  readonly positionals: Positionals;
  readonly flags: Flags;
  /** The command runs a model, so flags and commands of other agents get an answer. */
  readonly runsModel?: true;
  /** Sets of flags and positionals of which at most one may be given. */
  readonly exclusive?: readonly (readonly string[])[];
  /** Sets of flags and positionals of which at least one must be given. */
  readonly atLeastOne?: readonly (readonly string[])[];
  /** Flags that require another flag. */
  readonly needs?: readonly { readonly flag: string; readonly other: string }[];
  /** Flags that require a certain value of another flag. */
  readonly onlyWith?: readonly { readonly flag: string; readonly other: string; readonly value: string }[];
  readonly examples: readonly Example[];
};

const optionalId = {
  id: { value: value.sessionId, about: "A session id, or a unique prefix of it", optional: true },
} as const;
const last = grouped("Session", { last: { about: "This directory's latest session" } });
const limit = (usual: string) =>
  grouped("Output", { limit: { short: "n", value: value.count, about: "Show at most N", default: usual } });
const id = { id: { value: value.sessionId, about: "A session id, or a unique prefix of it" } } as const;

/** The flags of every command that runs a model. */
const runExclusive = [
  ["session", "resume", "last", "fork", "ephemeral"],
  ["record", "replay"],
  ["quiet", "verbose"],
  ["bare", "trust-project"],
  // Without a sandbox nothing enforces it.
  ["no-sandbox", "net"],
  ["no-sandbox", "deny-net"],
] as const;

const runNeeds = [
  { flag: "replay-loose", other: "replay" },
  { flag: "verify-attempts", other: "verify" },
] as const;

/** All commands by their words. Help, completions, the parser and the dispatcher read this table. */
export const commands = {
  exec: {
    about: "Do one task to its end, without asking a question",
    details:
      "The prompt is one argument, a file (-f FILE) or stdin (-). Piped input is appended to it; in a loop that " +
      "reads its own stdin, use --stdin ignore. The final answer goes to stdout, everything else to stderr.",
    positionals: {
      prompt: {
        value: { ...value.sentence("PROMPT"), ifEmpty: "The prompt is empty: say what to do" },
        about: "The task, in quotes; - reads it from stdin",
        optional: true,
      },
    },
    flags: runFlags,
    runsModel: true,
    exclusive: [["prompt", "file"], ...runExclusive],
    needs: runNeeds,
    onlyWith: [{ flag: "stream", other: "output", value: "text" }],
    examples: [
      { line: 'koda exec "make the tests pass"', about: "Do one task in this directory" },
      { line: 'npm test 2>&1 | koda exec "why does this fail?"', about: "Ask about the output of a command" },
      { line: 'koda exec --last "now write the changelog"', about: "Continue the last run in this directory" },
      { line: 'koda exec --json "fix the lint errors" | jq -r .type', about: "Follow the run as events" },
      { line: 'koda exec --mode plan --timeout 10m -o review.md "review src/"', about: "Only read, with a time limit" },
      { line: "koda exec -m demo", about: "Watch the demo, without a key and a network" },
    ],
  },
  chat: {
    about: "Talk to the model, line by line; for programs with --json",
    details:
      "Each line is an input, and the next one is read when its turn is over. /help lists the commands. Answers go to " +
      "stdout, everything else to stderr. The end of stdin ends the chat. With --json, each line of stdin is a " +
      "submission and each line of stdout an event.",
    positionals: {},
    flags: chatFlags,
    runsModel: true,
    exclusive: runExclusive,
    needs: runNeeds,
    examples: [
      { line: "koda chat --last", about: "Go on with this directory's latest session" },
      { line: "printf 'fix the bug\\nwrite a test\\n' | koda chat", about: "A script: one turn after the other" },
      { line: 'echo \'{"op":"input","text":"hello"}\' | koda chat --json', about: "For programs" },
    ],
  },
  acp: {
    about: "Act as the agent of an editor (Agent Client Protocol)",
    details:
      "Reads requests on stdin and writes to stdout, until stdin ends. The client opens sessions in directories of its " +
      "choice; the flags hold for all of them. docs/acp.md shows how to set up an editor.",
    positionals: {},
    flags: acpFlags,
    runsModel: true,
    exclusive: [
      ["bare", "trust-project"],
      ["no-sandbox", "net"],
      ["no-sandbox", "deny-net"],
    ],
    needs: [{ flag: "verify-attempts", other: "verify" }],
    examples: [
      { line: "koda acp", about: "What an editor starts" },
      { line: "koda acp --mode safe", about: "Each change needs the user's permission" },
    ],
  },
  review: {
    about: "Review changes, or anything else in the project, and report findings",
    details:
      "Reads only, in mode plan. stdout has the review in the format of --format and nothing else; with --output jsonl it " +
      "has the events, and -o FILE takes the review. docs/review.md has the formats, and how to use them in CI.",
    positionals: {
      hint: {
        value: value.sentence("HINT"),
        about: "What to look at above all, in quotes",
        optional: true,
      },
    },
    flags: reviewFlags,
    runsModel: true,
    exclusive: [["uncommitted", "base", "commit", "target"], ...runExclusive],
    needs: [{ flag: "replay-loose", other: "replay" }],
    examples: [
      { line: "koda review", about: "Review what is not committed yet" },
      { line: 'koda review --base main "is it safe for several threads?"', about: "Review a branch" },
      {
        line: "koda review --base origin/main --format github --fail-on-severity high",
        about: "Annotate a pull request",
      },
      { line: "koda review --commit HEAD --format sarif -o review.sarif", about: "Write a file for code scanning" },
    ],
  },
  "session list": {
    about: "List sessions, newest first",
    positionals: {},
    flags: {
      here: { group: "Session", about: "Only this directory's sessions" },
      children: { group: "Session", about: "The sessions of agents too" },
      ...limit("30, or all with --json"),
      ...json,
      ...helpFlag,
    },
    examples: [
      { line: "koda session list --here -n 5", about: "The five latest sessions of this directory" },
      { line: "koda session list --json | jq -r '.[0].id'", about: "The id of the latest session" },
    ],
  },
  "session show": {
    about: "Show the messages and calls of a session",
    positionals: optionalId,
    flags: { ...last, ...json, ...helpFlag },
    exclusive: [["id", "last"]],
    atLeastOne: [["id", "last"]],
    examples: [{ line: "koda session show 019a9c3e", about: "A unique prefix of the id is enough" }],
  },
  "session export": {
    about: "Write a session to stdout as a document",
    positionals: optionalId,
    flags: {
      ...last,
      format: {
        value: value.oneOf("markdown", "html", "jsonl", "atif"),
        group: "Output",
        about: "The document's format",
        default: "markdown",
      },
      json: { means: { flag: "format", value: "jsonl" }, group: "Output", about: "Short for --format jsonl" },
      ...helpFlag,
    },
    exclusive: [["id", "last"]],
    atLeastOne: [["id", "last"]],
    examples: [{ line: "koda session export 019a9c3e --format html > session.html", about: "One self-contained page" }],
  },
  "session search": {
    about: "Search the messages and calls of all sessions",
    positionals: { query: { value: value.sentence("QUERY"), about: "Words to look for" } },
    flags: { ...limit("20"), ...json, ...helpFlag },
    examples: [{ line: 'koda session search "race condition"', about: "Items with both words, else with one of them" }],
  },
  "session rollback": {
    about: "Take back the last turns of a session, and the files that they changed",
    details:
      "Drops the last N turns: the model no longer sees them. With --files the files that they changed become what " +
      "they were before, whoever changed them in the turn: a tool or a command. A file that you have changed since is " +
      "named and kept. Ignored files and everything in .git stay as they are.",
    positionals: { ...id, turns: { value: value.turns, about: "How many turns; all when there are fewer" } },
    flags: {
      files: { group: "General", about: "Restore the files as well" },
      "dry-run": { group: "General", about: "Only name what would change" },
      force: {
        group: "General",
        about: "Restore files that you have changed since, and leave out what cannot be restored",
      },
      ...json,
      ...helpFlag,
    },
    needs: [{ flag: "force", other: "files" }],
    examples: [
      { line: "koda session rollback 019a9c3e 1 --files --dry-run", about: "See what undoing the last turn changes" },
      { line: "koda session rollback 019a9c3e 1 --files", about: "Undo it" },
    ],
  },
  "session fork": {
    about: "Copy a session, to go on in two directions",
    positionals: id,
    flags: { ...json, ...helpFlag },
    examples: [{ line: "koda session fork 019a9c3e", about: "Prints the id of the new session" }],
  },
  "session rm": {
    about: "Delete a session, its agents and their outputs",
    positionals: id,
    flags: { ...json, ...helpFlag },
    examples: [{ line: "koda session rm 019a9c3e", about: "This cannot be undone" }],
  },
  "session prune": {
    about: "Delete sessions not used recently",
    positionals: {},
    flags: {
      "older-than": { value: value.age, required: true, group: "General", about: "Sessions not used for this long" },
      "dry-run": { group: "General", about: "Only list the sessions that would be deleted" },
      ...json,
      ...helpFlag,
    },
    examples: [{ line: "koda session prune --older-than 30d", about: "Keep the sessions of the last month" }],
  },
  sandbox: {
    about: "Run a command in the sandbox that the model's commands get",
    details:
      "The command uses koda's terminal, stdin and stdout, and koda exits with its exit code. Processes that it " +
      "leaves behind are killed. docs/sandbox.md has the guarantees, each with a command that checks it.",
    positionals: {
      command: {
        value: value.program,
        about: "A program and its arguments, run without a shell",
        line: true,
      },
    },
    flags: {
      ...policyFlags,
      json: { group: "Output", about: "First print the enforced policy to stderr, as one line of JSON" },
      ...helpFlag,
    },
    exclusive: [["bare", "trust-project"]],
    examples: [
      { line: "koda sandbox -- sh -c 'echo x > ~/x'", about: "Only the project is writable" },
      { line: "koda sandbox -- bash", about: "Look around in the sandbox" },
      { line: "koda sandbox --json -- true 2>&1 | jq .missed", about: "Why a stronger sandbox is not available" },
    ],
  },
  "mcp add": {
    about: "Add an MCP server to your configuration",
    details:
      "The server is a program, which runs in the sandbox, or a URL that speaks streamable HTTP. It is written into " +
      "your own config.json, whose comments and formatting stay. docs/mcp.md has the other keys of a server.",
    positionals: {
      name: { value: value.newServer, about: "The name of the server: its tools are offered as NAME__TOOL" },
      command: {
        value: value.program,
        about: "A program and its arguments, run without a shell",
        optional: true,
        line: true,
      },
    },
    flags: {
      url: { value: value.serverAddress, group: "General", about: "The URL of a server over HTTP" },
      env: {
        short: "e",
        value: value.assignment,
        many: true,
        group: "General",
        about: "A variable of the program; ${VAR} in it is replaced when the server is started",
      },
      header: {
        short: "H",
        value: value.header,
        many: true,
        group: "General",
        about: "A header for each request; ${VAR} in it is replaced when the server is started",
      },
      required: { group: "General", about: "A run fails when the server does not start" },
      ...helpFlag,
    },
    exclusive: [
      ["command", "url"],
      ["env", "url"],
      ["command", "header"],
    ],
    atLeastOne: [["command", "url"]],
    examples: [
      { line: "koda mcp add memory -- npx -y @modelcontextprotocol/server-memory", about: "A program" },
      {
        line: "koda mcp add docs --url https://mcp.example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'",
        about: "A server over HTTP; the token stays in the variable",
      },
    ],
  },
  "mcp list": {
    about: "List the MCP servers that a run here would start",
    positionals: {},
    flags: { ...trust, ...serverFiles, ...json, ...helpFlag },
    examples: [
      { line: "koda mcp list", about: "Your own servers" },
      { line: "koda mcp list --trust-project", about: "And those of the project's .mcp.json" },
    ],
  },
  "mcp remove": {
    about: "Remove an MCP server from your configuration",
    positionals: { name: { value: value.server, about: "The name of the server" } },
    flags: helpFlag,
    examples: [{ line: "koda mcp remove memory", about: "Only your own config.json is changed" }],
  },
  "mcp check": {
    about: "Start the MCP servers as a run would, and say what is wrong with them",
    details: "Takes the flags of a run that decide what a server may touch. Exits with 1 when a server fails.",
    positionals: { name: { value: value.server, about: "Only this server", optional: true } },
    flags: { ...policyFlags, ...serverFiles, ...json, ...helpFlag },
    exclusive: [["bare", "trust-project"]],
    examples: [
      { line: "koda mcp check", about: "All servers, with the number of their tools" },
      { line: "koda mcp check docs --json | jq '.[0].error'", about: "One of them" },
    ],
  },
  proxy: {
    about: "Run the two egress proxies alone",
    details:
      "An HTTP and a SOCKS5 proxy with the same rules as for the model's commands. Prints the lines to export once " +
      "both listen, then one line per request on stderr, until it is stopped.",
    positionals: {},
    flags: proxyFlags,
    examples: [
      { line: "koda proxy --allow-net example.com", about: "Allow the hosts of development, and one more" },
      { line: "koda proxy --listen 127.0.0.1:3128 --socks-listen 127.0.0.1:1080", about: "Choose the ports" },
    ],
  },
  models: {
    about: "List the providers, or the models of one",
    details:
      "Without PROVIDER, all providers: whether one can be used here, where its key comes from, its default model, and " +
      "that model's context window and price. With PROVIDER, it is asked for the models that it offers for your key.",
    positionals: { provider: { value: value.provider, about: "The provider to ask", optional: true } },
    flags: { ...trust, ...json, ...helpFlag },
    examples: [
      { line: "koda models", about: "Show which providers have a key here" },
      { line: "koda models openrouter | grep claude", about: "Find the name of a model for -m" },
    ],
  },
  doctor: {
    about: "Check everything a run needs, and say how to fix it",
    positionals: {},
    flags: {
      config: { group: "General", about: "Show each configuration value and where it comes from" },
      "config-schema": { group: "General", about: "Print a JSON Schema of the configuration, for editors" },
      ...trust,
      ...json,
      ...helpFlag,
    },
    exclusive: [["config", "config-schema"]],
    examples: [
      { line: "koda doctor", about: "Exits with 0 when a run would work, else with 1" },
      { line: "koda doctor --config", about: "Show the file, variable or flag behind each value" },
      { line: "koda doctor --config-schema > koda.schema.json", about: "Check and complete config.json in an editor" },
    ],
  },
  upgrade: {
    about: "Print the command that upgrades koda, for the way it was installed",
    details: "Downloads nothing and changes nothing. Exits with 1 where koda knows no such command.",
    positionals: {},
    flags: { ...json, ...helpFlag },
    examples: [
      { line: "koda upgrade", about: "See the command" },
      { line: 'sh -c "$(koda upgrade)"', about: "Run it" },
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
} as const satisfies Readonly<Record<string, CommandSpec>>;

/** Words that only lead to other commands, with one line about each. */
export const families: Readonly<Record<string, string>> = {
  mcp: "Add, list, remove and check MCP servers",
  session: "List, show, export, search, roll back, fork and delete sessions",
};

export type CommandName = keyof typeof commands;
