import type { CommandSpec } from "../commands.ts";
import { acpFlags, chatFlags, reviewFlags, runFlags } from "../flags.ts";
import * as value from "../values.ts";

/** The flags of every command that runs a model. */
const accessExclusive = [
  ["bare", "trust-project"],
  // Without a sandbox nothing enforces it.
  ["no-sandbox", "net"],
  ["no-sandbox", "deny-net"],
] as const;

const runExclusive = [
  ["session", "resume", "last", "fork", "ephemeral"],
  ["record", "replay"],
  ["quiet", "verbose"],
  ...accessExclusive,
] as const;

const runNeeds = [
  { flag: "replay-loose", other: "replay" },
  { flag: "verify-attempts", other: "verify" },
] as const;

/** The commands that run a model. */
export const runCommands = {
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
    exclusive: accessExclusive,
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
} as const satisfies Readonly<Record<string, CommandSpec>>;
