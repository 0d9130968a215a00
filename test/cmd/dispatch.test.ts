import { describe, expect, test } from "bun:test";
import { commands } from "../../cmd/commands.ts";
import { dispatchCommand, type Handlers } from "../../cmd/dispatch.ts";
import { KodaError } from "../../lib/errors.ts";

/** The result of a command line: the command with its options, the printed text, or the error. */
async function outcomeOf(argv: readonly string[]) {
  const called: unknown[] = [];
  let printed = "";
  const handlers = Object.fromEntries(
    Object.keys(commands).map((name) => [name, async (options: unknown) => called.push([name, options]) + 6]),
  ) as unknown as Handlers;
  const page = { columns: () => 80, print: async (text: string) => void (printed += text) };
  try {
    return { exit: await dispatchCommand(argv, handlers, page), called, printed };
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    return { code: error.code, message: error.message, called, printed };
  }
}

describe("a command is called with its options, and its number is the exit code", () => {
  const rows: readonly [line: string, command: string, options: unknown][] = [
    ["models", "models", { trustProject: false, json: false }],
    ["doctor --config", "doctor", { trustProject: false, json: false, config: true, configSchema: false }],
    ["session list --json", "session list", { here: false, children: false, json: true }],
    ["session show 0199", "session show", { id: "0199", last: false, json: false }],
    ["session search list", "session search", { query: "list", json: false }],
    ["session prune --older-than 30d", "session prune", { olderThan: 2_592_000_000, dryRun: false, json: false }],
    ["completions zsh", "completions", { shell: "zsh" }],
    ["exec -- session", "exec", expect.objectContaining({ prompt: "session" })],
    ["exec --model session go", "exec", expect.objectContaining({ model: "session", prompt: "go" })],
    ["exec -- --help", "exec", expect.objectContaining({ prompt: "--help" })],
  ];
  for (const [line, command, options] of rows)
    test(line, async () => {
      expect(await outcomeOf(line.split(" "))).toEqual({ exit: 7, called: [[command, options]], printed: "" });
    });
});

describe("refused before anything is called", () => {
  const rows: readonly [argv: readonly string[], message: string][] = [
    [["-v", "exec"], '-v takes no argument, but "exec" follows'],
    [["run", "x"], 'Unknown command "run": write koda exec "PROMPT"'],
    [["-p", "x"], 'Unknown flag "-p": write koda exec "PROMPT"'],
    [["--sandbox=read-only", "x"], "write --mode plan"],
    [["session", "--format", "json"], 'Unknown flag "--format": a command comes first'],
    [["session", "help", "lst"], 'Unknown command "session lst"'],
    [["exce"], 'Unknown command "exce" (did you mean "exec"?)'],
    [["fix the bug"], 'for a task write koda exec "fix the bug"'],
    [["toString"], 'Unknown command "toString"'],
    [["__proto__"], 'Unknown command "__proto__"'],
    [["session"], "No command given: expected list, show, export, search, rollback, fork, rm, prune"],
    [["session", "lst"], 'Unknown command "session lst" (did you mean "list"?)'],
    [["session", "constructor"], 'Unknown command "session constructor"'],
    [["session", "--json", "list"], 'Unknown flag "--json": a command comes first'],
    [["--json", "exec"], 'Unknown flag "--json": a command comes first'],
    [["--", "exec"], 'Unknown flag "--": a command comes first'],
    [["--versio"], 'Unknown flag "--versio" (did you mean "--version"?)'],
    [["exec", "-", "hello"], 'Unexpected argument "hello": PROMPT is already -'],
    [["-V", "exec"], '-V takes no argument, but "exec" follows'],
    [["help", "exce"], 'Unknown command "exce" (did you mean "exec"?)'],
    [["help", "session", "x"], 'Unknown command "session x"'],
    [["help", "exec", "x"], 'Unexpected argument "x"'],
    [["models", "--jsno"], 'Unknown flag "--jsno" (did you mean "--json"?)'],
    [["ultrareview"], 'Unknown command "ultrareview"'],
    [["mcp"], "No command given: expected add, list, remove, check"],
    [["mcp", "add", "x", "npx", "-y"], "put -- before the command: koda mcp add x -- npx -y"],
    [["mcp", "add", "x"], "Expected CMD or --url"],
    [["mcp", "add", "x", "--url", "https://a", "--", "b"], "CMD and --url cannot be used together"],
    [["mcp", "add", "-s", "user", "x", "--", "b"], 'Unknown flag "-s": leave it out'],
    [["mcp", "add", "-t", "http", "x", "https://a"], 'Unknown flag "-t": leave it out; write --url URL'],
    [["mcp", "add", "--transport", "sse", "x", "https://a"], "koda does not speak SSE"],
    [["mcp", "get", "x"], 'Unknown command "mcp get": write koda mcp list'],
    [["session", "rollback", "a", "x"], "expected a number of turns"],
    [["session", "rollback", "a", "-1"], 'N "-1": expected a number of turns, 1 or more'],
    [["session", "rollback", "-1", "a"], 'Unknown flag "-1"'],
    [["session", "rollback", "a", "1", "--force"], "--files"],
  ];
  for (const [argv, message] of rows)
    test(`koda ${argv.join(" ")}`, async () => {
      const outcome = await outcomeOf(argv);
      expect(outcome).toMatchObject({ code: "usage", called: [], printed: "" });
      expect(outcome.message).toContain(message);
    });
});

describe("help is a page on stdout", () => {
  const rows: readonly [argv: readonly string[], usage: string][] = [
    [[], "koda COMMAND"],
    [["--help"], "koda COMMAND"],
    [["-h"], "koda COMMAND"],
    [["help"], "koda COMMAND"],
    [["help", "--help"], "koda COMMAND"],
    [["help", "exec"], "koda exec [PROMPT] [FLAGS]"],
    [["exec", "--help"], "koda exec [PROMPT] [FLAGS]"],
    [["exec", "do it", "-h"], "koda exec [PROMPT] [FLAGS]"],
    [["session", "-h"], "koda session COMMAND [FLAGS]"],
    [["session", "help"], "koda session COMMAND [FLAGS]"],
    [["session", "help", "list"], "koda session list [FLAGS]"],
    [["help", "session"], "koda session COMMAND [FLAGS]"],
    [["help", "session", "prune"], "koda session prune --older-than AGE [FLAGS]"],
    [["mcp", "add", "--help"], "koda mcp add NAME [FLAGS] [-- CMD [ARGS]]"],
    [["session", "export", "--help"], "koda session export [ID] [FLAGS]"],
  ];
  for (const [argv, usage] of rows)
    test(`koda ${argv.join(" ")}`, async () => {
      const outcome = await outcomeOf(argv);
      expect(outcome).toMatchObject({ exit: 0, called: [] });
      expect(outcome.printed).toContain(`Usage: ${usage}`);
    });
});
