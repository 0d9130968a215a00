import { helpFlag, json, policyFlags, proxyFlags, trust, type Flags } from "./flags.ts";
import * as value from "./values.ts";
import type { ArgumentType } from "./values.ts";
import { batchCommands } from "./commands/batch.ts";
import { mcpCommands } from "./commands/mcp.ts";
import { runCommands } from "./commands/run.ts";
import { sessionCommands } from "./commands/session.ts";
import { workerCommands } from "./commands/worker.ts";

/**
 * A positional argument. Only the last ones may be optional. With `line`, which only the last may have, it is a whole
 * command line, which takes everything after `--`.
 */
export type Positional = {
  readonly value: ArgumentType<unknown>;
  readonly about: string;
  readonly optional?: true;
  readonly line?: true;
  /** Takes all that follow, which only the last may do. */
  readonly many?: true;
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
  /** Why nothing else may be given with one of them. */
  readonly exclusiveReason?: { readonly flag: string; readonly reason: string };
  /** Sets of flags and positionals of which at least one must be given. */
  readonly atLeastOne?: readonly (readonly string[])[];
  /** Flags that require another flag. */
  readonly needs?: readonly { readonly flag: string; readonly other: string }[];
  /** Flags that require a certain value of another flag. */
  readonly onlyWith?: readonly { readonly flag: string; readonly other: string; readonly value: string }[];
  readonly examples: readonly Example[];
};

/** All commands by their words. Help, completions, the parser and the dispatcher read this table. */
export const commands = {
  ...runCommands,
  ...batchCommands,
  ...sessionCommands,
  ...workerCommands,
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
  ...mcpCommands,
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
  batch: "Run, watch and collect lists of tasks, on one machine or many",
  mcp: "Add, list, remove and check MCP servers",
  session: "List, show, export, search, roll back, fork and delete sessions",
};

export type CommandName = keyof typeof commands;
