import { describe, expect, test } from "bun:test";
import { helpRequested, parseArguments } from "../../cmd/arguments.ts";
import { commands, type CommandName } from "../../cmd/commands.ts";
import type { Flag, Flags } from "../../cmd/flags.ts";
import { KodaError } from "../../lib/errors.ts";

/** The options of `koda exec` without arguments. */
const nothing = parseArguments("exec", []);

const accepted: readonly [argv: readonly string[], options: object][] = [
  [[], {}],
  [["do it"], { prompt: "do it" }],
  [["-"], { prompt: "-" }],
  [["--", "--not-a-flag"], { prompt: "--not-a-flag" }],
  [["-q", "--", "-v"], { quiet: true, prompt: "-v" }],

  [["-f", "task.md"], { file: "task.md" }],
  [["--file=task.md"], { file: "task.md" }],
  [["-f", "-"], { file: "-" }],
  [["-i", "a.png", "--image", "b.png", "look"], { image: ["a.png", "b.png"], prompt: "look" }],
  [["--stdin", "require"], { stdin: "require" }],

  [["-m", "openai/gpt-5.5", "do it"], { model: "openai/gpt-5.5", prompt: "do it" }],
  [["do it", "-m", "openai/gpt-5.5"], { model: "openai/gpt-5.5", prompt: "do it" }],
  [["-mdemo"], { model: "demo" }],
  [["-m=demo"], { model: "demo" }],
  [["--model=a=b"], { model: "a=b" }],
  [["-m", "/srv/models/own/"], { model: "/srv/models/own/" }],
  [["--model=-odd"], { model: "-odd" }],
  [["-qmdemo", "do it"], { quiet: true, model: "demo", prompt: "do it" }],
  [["--base-url", "http://127.0.0.1:8080/v1/"], { baseUrl: "http://127.0.0.1:8080/v1" }],
  [["--api-key-env", "CORP_KEY"], { apiKeyEnv: "CORP_KEY" }],
  [["--wire", "responses"], { wire: "responses" }],
  [["--reasoning-effort", "high"], { reasoningEffort: "high" }],
  [["--temperature", "0"], { temperature: 0 }],
  [["--temperature=0.7"], { temperature: 0.7 }],
  [["--max-output-tokens", "4096"], { maxOutputTokens: 4096 }],

  [["-C", "/src"], { cd: "/src" }],
  [["--allow-write", "a", "--add-dir=b"], { allowWrite: ["a", "b"] }],
  [["--allow-write=a,b", "--allow-write", "c,,d"], { allowWrite: ["a", "b", "c,d"] }],
  [["--allow-write", "a,,"], { allowWrite: ["a,"] }],
  [["--allow-read", "~/.npmrc", "--allow-read=a,b"], { allowRead: ["~/.npmrc", "a", "b"] }],
  [["--deny-read=a,b", "--deny-read", "c"], { denyRead: ["a", "b", "c"] }],
  [["--allow-git"], { allowGit: true }],
  [["--allow-config"], { allowConfig: true }],
  [
    ["--allow-net", "a.example", "--allow-host=*.b.example,c.example:22"],
    { allowNet: ["a.example", "*.b.example", "c.example:22"] },
  ],
  [["--deny-net=a.example", "--deny-host", "b.example"], { denyNet: ["a.example", "b.example"] }],
  [["--net", "open"], { net: "open" }],
  [["--allow-env", "A,B", "--pass-env", "C"], { allowEnv: ["A", "B", "C"] }],
  [["--mode", "plan"], { mode: "plan" }],
  [
    ["--allow-tool", "Read", "--allow-tool", "Grep", "--deny-tool=Bash"],
    { allowTool: ["Read", "Grep"], denyTool: ["Bash"] },
  ],
  [["--allow-tool", "Read,Grep"], { allowTool: ["Read", "Grep"] }],
  [["--no-sandbox"], { noSandbox: true }],
  [["--trust-project"], { trustProject: true }],
  [["--no-sandbox", "--no-sandbox"], { noSandbox: true }],

  [["--session", "nightly-2026.11_18"], { session: "nightly-2026.11_18" }],
  [["--resume", "0199"], { resume: "0199" }],
  [["--last", "go on"], { last: true, prompt: "go on" }],
  [["--fork", "0199"], { fork: "0199" }],
  [["--ephemeral"], { ephemeral: true }],
  [["--wait", "30s", "--last"], { wait: 30_000, last: true }],
  [["--wait", "0"], { wait: 0 }],

  [["--output", "json"], { output: "json" }],
  [["--json"], { output: "jsonl" }],
  [["--json", "--output=jsonl"], { output: "jsonl" }],
  [["-o", "answer.txt"], { outputLastMessage: "answer.txt" }],
  [["--output-schema", "s.json"], { outputSchema: "s.json" }],
  [["--stream"], { stream: true }],
  [["--stream", "--output", "text"], { stream: true, output: "text" }],
  [["--print-schema"], { printSchema: true }],
  [["-v"], { verbose: true }],
  [["--color", "never"], { color: "never" }],

  [["--max-turns", "1"], { maxTurns: 1 }],
  [["--max-tokens=100000"], { maxTokens: 100_000 }],
  [["--max-cost", "2.50"], { maxCost: 2.5 }],
  [["--timeout", "500ms"], { timeout: 500 }],
  [["--timeout", "1.5m"], { timeout: 90_000 }],
  [["--idle-timeout", "2h"], { idleTimeout: 7_200_000 }],
  [["--wait-limit", "0"], { waitLimit: 0 }],
  [["--wait-limit=2h"], { waitLimit: 7_200_000 }],
  [["--max-command-time", "300s"], { maxCommandTime: 300_000 }],
  [["--fail-on=denied,tool-error"], { failOn: ["denied", "tool-error"] }],
  [["--fail-on", "no-change", "--fail-on", "incomplete"], { failOn: ["no-change", "incomplete"] }],
  [["--finish", "required"], { finish: "required" }],

  [["--record", "a.jsonl"], { record: "a.jsonl" }],
  [["--replay", "a.jsonl", "--replay-loose"], { replay: "a.jsonl", replayLoose: true }],
  [
    ["--config", "limits.max_turns=5", "--config", 'providers."a=b".wire=chat'],
    { config: ["limits.max_turns=5", 'providers."a=b".wire=chat'] },
  ],
  [["--bare"], { bare: true }],
];

describe("koda exec takes", () => {
  for (const [argv, options] of accepted)
    test(argv.join(" ") || "nothing", () => {
      expect(parseArguments("exec", argv)).toEqual({ ...(nothing as object), ...options } as never);
    });
});

test("what is not given is absent, so that the environment and the configuration can say it", () => {
  const switches =
    "allowGit allowConfig noSandbox trustProject last ephemeral stream printSchema quiet verbose replayLoose bare".split(
      " ",
    );
  const lists =
    "image allowWrite allowRead denyRead allowNet denyNet allowEnv allowTool denyTool failOn config mcpConfig".split(
      " ",
    );
  expect(nothing).toEqual({
    ...Object.fromEntries(switches.map((name) => [name, false])),
    ...Object.fromEntries(lists.map((name) => [name, []])),
  } as never);
});

describe("koda sandbox takes a command line", () => {
  const rows: readonly [line: string, command: string][] = [
    ["-- ls", "ls"],
    ["ls src", "ls src"],
    ["cat -", "cat -"],
    ["-- ls -l --json", "ls -l --json"],
    ["-- git checkout -- a", "git checkout -- a"],
    ["-- grep  a", "grep  a"],
    ["-- -odd -h", "-odd -h"],
  ];
  for (const [line, command] of rows)
    test(line, () =>
      expect(parseArguments("sandbox", line.split(" "))).toMatchObject({ command: command.split(" "), json: false }),
    );

  test("behind its own flags", () =>
    expect(parseArguments("sandbox", ["--json", "--mode", "plan", "ls"])).toMatchObject({
      command: ["ls"],
      json: true,
      mode: "plan",
    }));
});

const refused: readonly [command: CommandName, argv: readonly string[], message: string][] = [
  ["exec", ["--modle", "gpt", "do it"], 'Unknown flag "--modle" (did you mean "--model"?)'],
  ["exec", ["--max-turns 50"], 'Unknown flag "--max-turns 50": it is one word with its value; write --max-turns=50'],
  ["exec", ["--modle=gpt"], 'Unknown flag "--modle" (did you mean "--model"?)'],
  ["exec", ["--resum", "x"], 'Unknown flag "--resum" (did you mean "--resume"?)'],
  ["exec", ["--no-bare"], 'Unknown flag "--no-bare"'],
  ["exec", ["--constructor"], 'Unknown flag "--constructor"'],
  ["exec", ["--"].concat(["a", "b"]), 'Unexpected argument "b": PROMPT is one argument, so put it in quotes: "a b"'],
  ["exec", ["-x"], 'Unknown flag "-x"'],
  ["exec", ["-qx"], 'Unknown flag "-x"'],
  ["exec", ["-1"], 'Unknown flag "-1"'],
  ["exec", ["---"], 'Unknown flag "---"'],
  ["exec", ["--=x"], 'Unknown flag "--"'],
  ["exec", ["-model", "gpt"], 'Unknown flag "-model": a long flag has two dashes, --model'],
  ["exec", ["-output=json"], 'Unknown flag "-output=json": a long flag has two dashes, --output'],
  [
    "exec",
    ["fix", "the", "bug"],
    'Unexpected argument "the": PROMPT is one argument, so put it in quotes: "fix the bug"',
  ],

  ["exec", ["-m"], "-m needs a value: -m NAME"],
  ["exec", ["--model"], "--model needs a value: --model NAME"],
  [
    "exec",
    ["--model", "--json", "x"],
    '--model needs a value, and "--json" is a flag: to pass it, write --model=--json',
  ],
  ["exec", ["--model="], '--model "": expected a name'],
  ["exec", ["-f", ""], '-f "": expected the name of a file'],
  ["exec", [""], "The prompt is empty"],
  ["exec", ["--bare=yes"], '--bare takes no value, but was given "yes"'],
  ["exec", ["-q=1"], '-q takes no value, but was given "1"'],
  ["exec", ["--json=no"], '--json takes no value, but was given "no"'],

  ["exec", ["--output", "yaml"], '--output "yaml": expected text, json or jsonl'],
  ["exec", ["--output", "jsonll"], '--output "jsonll": expected text, json or jsonl (did you mean "jsonl"?)'],
  ["exec", ["--mode", "AUTO"], '--mode "AUTO": expected plan, safe or auto (did you mean "auto"?)'],
  ["exec", ["--wire", "grpc"], '--wire "grpc": expected chat, responses or messages'],
  ["exec", ["--stdin", "maybe"], '--stdin "maybe": expected auto, append, require or ignore'],
  [
    "exec",
    ["--fail-on", "nochange"],
    'expected denied, tool-error, no-change or incomplete (did you mean "no-change"?)',
  ],
  ["exec", ["--finish", "always"], '--finish "always": expected required'],
  ["exec", ["--net", "all"], '--net "all": expected allowlist, none or open'],
  ["exec", ["--allow-net="], '--allow-net "": expected a host'],
  ["exec", ["--color=yes"], '--color "yes": expected auto, always or never'],
  ["exec", ["--reasoning-effort", "max"], '--reasoning-effort "max": expected low, medium or high'],
  ["exec", ["--max-turns", "0"], '--max-turns "0": expected a positive integer'],
  ["exec", ["--max-turns", "ten"], '--max-turns "ten": expected a positive integer'],
  ["exec", ["--max-turns=-5"], '--max-turns "-5": expected a positive integer'],
  ["exec", ["--max-turns", "-5"], '--max-turns needs a value, and "-5" is a flag'],
  ["exec", ["--max-tokens", "1e6"], '--max-tokens "1e6": expected a positive integer'],
  ["exec", ["--max-tokens", "1.5"], '--max-tokens "1.5": expected a positive integer'],
  ["exec", ["--max-cost", "0"], '--max-cost "0": expected a positive number of US dollars, as in 2.50'],
  ["exec", ["--max-cost", "$2"], '--max-cost "$2": expected a positive number of US dollars'],
  ["exec", ["--max-cost", "1e3"], '--max-cost "1e3": expected a positive number of US dollars'],
  ["exec", ["--wait-limit", "5"], '--wait-limit "5": expected a time such as 500ms, 30s, 10m or 2h'],
  ["exec", ["--temperature", "warm"], '--temperature "warm": expected a non-negative number'],
  ["exec", ["--temperature=-1"], '--temperature "-1": expected a non-negative number'],
  ["exec", ["--timeout", "30"], '--timeout "30": expected a time such as 500ms, 30s, 10m or 2h'],
  ["exec", ["--timeout", "0"], '--timeout "0": expected a time'],
  ["exec", ["--timeout", "30sec"], '--timeout "30sec": expected a time'],
  ["exec", ["--timeout", "30d"], '--timeout "30d": expected a time such as 500ms, 30s, 10m or 2h (at most 24 days)'],
  ["exec", ["--wait", "soon"], '--wait "soon": expected a time'],
  ["exec", ["--session", "a b"], '--session "a b": expected 1 to 64 of the characters A-Z a-z 0-9 . _ -'],
  ["exec", ["--session", "x".repeat(65)], "expected 1 to 64 of the characters"],
  ["exec", ["--session", "../x"], "expected 1 to 64 of the characters"],
  ["exec", ["--allow-write", "a,"], '--allow-write "a,": expected the name of a directory'],
  ["exec", ["--allow-read="], '--allow-read "": expected the name of a file or directory'],
  ["exec", ["--deny-read", "a,"], '--deny-read "a,": expected the name of a file or directory'],
  ["exec", ["--allow-git=yes"], '--allow-git takes no value, but was given "yes"'],
  ["exec", ["--allow-write=,a"], '--allow-write ",a": expected the name of a directory'],

  ["exec", ["-m", "a", "-m", "b"], '--model was given twice, as "a" and as "b": give it once'],
  ["exec", ["--output", "text", "--json"], '--output was given twice, as "text" and as "jsonl": give it once'],
  [
    "batch run",
    ["--resume", "a", "-m", "b"],
    "--resume and --model cannot be used together: the tasks of a batch keep the options they were submitted with",
  ],
  ["exec", ["-f", "a", "do it"], "PROMPT and --file cannot be used together"],
  ["exec", ["-f", "a", "-"], "PROMPT and --file cannot be used together"],
  ["exec", ["--resume", "a", "--session", "b"], "--session and --resume cannot be used together"],
  ["exec", ["--resume", "a", "--last"], "--resume and --last cannot be used together"],
  ["exec", ["--resume", "a", "--fork", "b"], "--resume and --fork cannot be used together"],
  ["exec", ["--last", "--fork", "b"], "--last and --fork cannot be used together"],
  ["exec", ["--session", "a", "--ephemeral"], "--session and --ephemeral cannot be used together"],
  ["exec", ["--last", "--ephemeral"], "--last and --ephemeral cannot be used together"],
  ["exec", ["--record", "a", "--replay", "b"], "--record and --replay cannot be used together"],
  ["exec", ["-q", "-v"], "--quiet and --verbose cannot be used together"],
  ["exec", ["-qv"], "--quiet and --verbose cannot be used together"],
  ["exec", ["--replay-loose"], "--replay-loose requires --replay"],
  ["exec", ["--stream", "--json"], "--stream requires --output text, not --output jsonl"],
  ["exec", ["--stream", "--output", "json"], "--stream requires --output text, not --output json"],

  ["session list", ["all"], 'Unexpected argument "all"\n'],
  ["session list", ["--jsn"], 'Unknown flag "--jsn" (did you mean "--json"?)'],
  ["session show", [], "Expected ID or --last\n"],
  ["session show", ["a", "--last"], "ID and --last cannot be used together"],
  ["session show", ["a", "b"], 'Unexpected argument "b"\n'],
  ["session export", ["a", "--format", "pdf"], '--format "pdf": expected markdown, html, jsonl or atif'],
  ["session export", ["a", "--json", "--format", "html"], "--format was given twice"],
  ["session search", ["two", "words"], 'QUERY is one argument, so put it in quotes: "two words"'],
  ["session prune", [], "--older-than AGE is missing"],
  ["session prune", ["--older-than", "30"], '--older-than "30": expected a time such as 12h or 30d'],
  ["session prune", ["--older-than", "0"], '--older-than "0": expected a time such as 12h or 30d'],
  ["sandbox", [], "CMD is missing: koda sandbox -- CMD"],
  ["sandbox", ["--"], "CMD is missing: koda sandbox -- CMD"],
  ["sandbox", ["--", ""], 'CMD "": expected a program'],
  ["sandbox", ["ls", "-l"], '"-l" is ambiguous: put -- before the command: koda sandbox -- ls -l'],
  ["sandbox", ["ls", "--json"], '"--json" is ambiguous: put -- before the command: koda sandbox -- ls --json'],
  [
    "sandbox",
    ["--json", "git", "add", "--", "a"],
    '"--" is ambiguous: put -- before the command: koda sandbox -- git add',
  ],
  ["sandbox", ["--jsno", "ls"], 'Unknown flag "--jsno" (did you mean "--json"?)'],
  ["models", ["openai", "groq"], 'Unexpected argument "groq"'],
  ["doctor", ["--config=all"], '--config takes no value, but was given "all"'],
  ["completions", [], "SHELL is missing: koda completions SHELL"],
  ["completions", ["ksh"], 'SHELL "ksh": expected bash, zsh or fish'],
];

describe("refused with the reason and exit 2", () => {
  for (const [name, argv, message] of refused)
    test(`koda ${name} ${argv.join(" ")}`.slice(0, 80), () => {
      const error = refusalOf(name, argv);
      expect(error.code).toBe("usage");
      expect(error.message).toContain(message);
      expect(error.message).toEndWith(`\nSee koda ${name} --help`);
    });
});

describe("a value that may be a key in the wrong place is not repeated", () => {
  for (const flag of ["--api-key-env", "--base-url", "--allow-env", "--config"])
    test(flag, () => {
      const { message } = refusalOf("exec", [flag, "sk-12345"]);
      expect(message).toStartWith(`${flag}: expected`);
      expect(message).not.toContain("sk-12345");
    });
});

describe("help comes before every complaint", () => {
  for (const argv of [
    ["-h"],
    ["--help"],
    ["do it", "-h", "--bogus"],
    ["-q", "-v", "--help"],
    ["a", "b", "-h"],
    ["-qh"],
  ])
    test(argv.join(" "), () => expect(parseArguments("exec", argv)).toBe(helpRequested));

  test("but not where it is no flag", () => {
    expect(parseArguments("exec", ["--", "-h"])).toMatchObject({ prompt: "-h" });
    expect(parseArguments("exec", ["--model=--help"])).toMatchObject({ model: "--help" });
  });
});

describe("the table of", () => {
  for (const [name, { flags }] of Object.entries<{ flags: Flags }>(commands))
    test(`${name} has no spelling twice, and every shorthand leads to a flag that takes its value`, () => {
      const entries = Object.entries<Flag>(flags);
      const spellings = entries.flatMap(([flag, { short, aliases = [] }]) => [
        flag,
        ...aliases,
        ...(short ? [short] : []),
      ]);
      expect(new Set(spellings).size).toBe(spellings.length);
      for (const [, { means }] of entries) {
        if (means === undefined) continue;
        expect(flags[means.flag]?.value?.read(means.value)).toBe(means.value);
      }
    });
});

function refusalOf<N extends CommandName>(name: N, argv: readonly string[]): KodaError {
  try {
    parseArguments(name, argv);
  } catch (error) {
    if (error instanceof KodaError) return error;
    throw error;
  }
  throw new Error(`koda ${name} ${argv.join(" ")} was accepted`);
}
