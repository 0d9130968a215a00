import { describe, expect, test } from "bun:test";
import type { Event, EventOf } from "../../lib/engine/event.ts";
import { call, ended, failure, finished, printed, retried, said, sinkRun, started } from "../support/sink-run.ts";

const notice = (level: "info" | "warn" | "error", message: string): Event => ({
  type: "notice",
  level,
  code: "some",
  message,
});

const run: readonly Event[] = [
  started,
  { type: "turn.start", turn: 1 },
  { type: "thinking.delta", text: "Where is\nit" },
  { type: "thinking.delta", text: "?" },
  ...said("I look."),
  call("a", "Read", { path: "src/a.ts" }, "read"),
  ended("a", "Read", { duration_ms: 3.4 }),
  call("b", "Bash", { command: "npm test\necho" }),
  printed("b", "one\ntw"),
  printed("b", "o\n"),
  ended("b", "Bash", { ok: false, exit_code: 1 }),
  retried,
  notice("warn", "AGENTS.md was cut at 32 KiB"),
  {
    type: "todo",
    items: [
      { text: "find it", status: "in_progress" },
      { text: "fix it", status: "pending" },
    ],
  },
  {
    type: "todo",
    items: [
      { text: "find it", status: "done" },
      { text: "fix it", status: "pending" },
    ],
  },
  ...said("Good."),
  { type: "turn.end", turn: 1, reason: "complete" },
  { type: "diff", files: [{ path: "src/a.ts", kind: "update", added: 3, removed: 1 }], patch: "" },
  finished("Good.", { tools: { ok: 1, failed: 1, denied: 0 }, files_changed: 1 }),
];

test("files that other programs run are named before the last line", async () => {
  const changes = Array.from({ length: 7 }, (_, index) => ({ path: `.zed/${index}\n`, kind: "config" as const }));
  const { stderr } = await sinkRun([finished("Good.", { executable_changes: changes })]);
  expect(stderr).toContain(
    "! Review before other programs run them: .zed/0 , .zed/1 , .zed/2 , .zed/3 , .zed/4  and 2 more files\n✓ done",
  );
  expect((await sinkRun([finished("Good.")])).stderr).not.toContain("Review");
});

describe("a run for people", () => {
  test("reads from its surroundings to its end", async () => {
    expect((await sinkRun(run)).stderr).toBe(`koda 0.1.0 · corp/big · mode auto · sandbox none · /src/app
! the sandbox is off (--no-sandbox)
I look.
● Read src/a.ts ✓ 3 ms
● Bash npm test ⏎ echo
    one
    two
  ✗ exit 1 · 1.2 s
↻ The stream broke off; retry 1 of 5 in 200 ms
! AGENTS.md was cut at 32 KiB
  ▸ find it
  ☐ fix it
  ☑ find it
  M src/a.ts +3 -1
✓ done · 12 s · tokens: 12,345 in (10,000 cached), 678 out · 2 calls, 1 failed · 1 file changed
  to continue: koda exec --resume 0199 "…"
`);
  });

  test("tells more with --verbose: thinking, whole inputs, what the session has", async () => {
    const { stderr } = await sinkRun(run, { verbose: true });
    expect(stderr).toContain("  Where is\n  it?\n");
    expect(stderr).toContain('    {\n      "command": "npm test\\necho"\n    }\n');
    expect(stderr).toContain("  session: 0199\n");
    expect(stderr).toContain("  tools: Bash Read\n");
    expect(stderr).toContain("  instructions: AGENTS.md\n");
  });

  test("keeps silent with --quiet, but for what makes it less safe", async () => {
    expect((await sinkRun(run, { quiet: true })).stderr).toBe("! the sandbox is off (--no-sandbox)\n");
  });

  test("names the failure and the code that the process exits with", async () => {
    const { stderr } = await sinkRun([finished("", { status: "failed", exit: 9, error: failure })]);
    expect(stderr).toStartWith("koda: Slow down\n✗ failed (rate_limit, exit 9) · 12 s");
  });

  test("says what went wrong with --quiet too", async () => {
    const end = finished("", { status: "failed", exit: 9, error: failure });
    const { stderr } = await sinkRun([notice("error", "The disk is full"), end], { quiet: true });
    expect(stderr).toBe("✗ The disk is full\nkoda: Slow down\n");
  });

  test("says of a run that never began why, and nothing else", async () => {
    const end = finished("", { session: null, resume: null, status: "failed", exit: 9, error: failure });
    expect((await sinkRun([end])).stderr).toBe("koda: Slow down\n");
  });

  test("leaves out what the provider did not report", async () => {
    const unknown = { input: null, cached: null, output: null, reasoning: null };
    const { stderr } = await sinkRun([finished("Good.", { usage: unknown })]);
    expect(stderr).toStartWith("✓ done · 12 s\n");
  });

  test("names what a project asked for and did not get", async () => {
    const { stderr } = await sinkRun([{ ...started, skipped: [".koda/config.json: providers"] } as Event]);
    expect(stderr).toContain('! Ignored "providers" in .koda/config.json');
  });
});

const endings: readonly [name: string, ending: Parameters<typeof ended>[2], line: string][] = [
  ["success", {}, "✓ 1.2 s"],
  ["an exit code", { ok: false, exit_code: 2 }, "✗ exit 2 · 1.2 s"],
  ["a signal", { ok: false, signal: "SIGSEGV" }, "✗ killed by SIGSEGV · 1.2 s"],
  ["a time limit", { ok: false, timed_out: true, exit_code: 143 }, "✗ timed out · 1.2 s"],
  ["a denial", { ok: false, denied: "destructive: git push --force" }, "✗ denied: destructive: git push --force"],
  ["a failure in words", { ok: false, summary: "No such\nfile" }, "✗ No such ⏎ file · 1.2 s"],
  ["a long time", { duration_ms: 200_400 }, "✓ 3 min 20 s"],
];

describe("a call ends with", () => {
  for (const [name, ending, line] of endings)
    test(name, async () => {
      const { stderr } = await sinkRun([call("a", "Bash", { command: "make" }), ended("a", "Bash", ending)]);
      expect(stderr).toBe(`● Bash make\n  ${line}\n`);
    });
});

const inputs: readonly [input: unknown, line: string][] = [
  [{ command: "npm test" }, "npm test"],
  [{ path: "src", pattern: "TODO" }, "TODO src"],
  [{ query: "race" }, "race"],
  [{ turn: 3 }, "3"],
  [{ items: [] }, ""],
  ["{not json", "{not json"],
  [{ command: "a".repeat(200) }, `${"a".repeat(72)}…`],
  [{ command: "界".repeat(200) }, `${"界".repeat(36)}…`],
  [{ command: "\u001b[31mred\u001b[0m \u0007bell" }, "red bell"],
  [{ command: "rm \u202eelif" }, "rm \\u202eelif"],
  [{ command: "true\u001b]0; ; rm it" }, "true]0; ; rm it"],
];

describe("a call's input is told in one line", () => {
  for (const [input, words] of inputs)
    test(JSON.stringify(input).slice(0, 60), async () => {
      const { stderr } = await sinkRun([call("a", "Bash", input)]);
      expect(stderr).toBe(`● Bash ${words}`.trimEnd() + "\n");
    });
});

test("calls that run together do not share lines, and each end is named", async () => {
  const { stderr } = await sinkRun([
    call("a", "Bash", { command: "one" }),
    call("b", "Bash", { command: "two" }),
    printed("a", "first of one, "),
    printed("b", "first of two\n"),
    printed("a", "second of one\n"),
    ended("b", "Bash"),
    ended("a", "Bash"),
  ]);
  expect(stderr).toBe(`● Bash one
● Bash two
    first of two
  Bash one:
    first of one, second of one
  Bash two ✓ 1.2 s
  Bash one ✓ 1.2 s
`);
});

test("a command cannot steer the terminal, nor colour the log", async () => {
  const { stderr } = await sinkRun([
    call("a", "Bash", { command: "x" }),
    printed("a", "\u001b[31mred\u001b[0m \u001b]0;title\u0007a\rb \u009b2J\u0000\n"),
    ended("a", "Bash"),
  ]);
  expect(stderr).toContain("    red ]0;titlea\n    b 2J\n");
});

test("in a log a command is announced before it has printed anything, whatever it does", async () => {
  const { stderr } = await sinkRun([call("a", "Bash", { command: "sleep 60" }, "read")]);
  expect(stderr).toBe("● Bash sleep 60\n");
});

describe("a log gets of a command's output", () => {
  const numbers = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => `    ${from + index}\n`).join("");
  /** In pieces that break lines anywhere. */
  const counting = (last: number) => {
    const text = Array.from({ length: last }, (_, index) => `${index + 1}\n`).join("");
    return (text.match(/[^]{1,1000}/g) ?? []).map((piece) => printed("a", piece));
  };
  const make = call("a", "Bash", { command: "make" });
  const shown = async (...events: Event[]) =>
    (await sinkRun([make, ...events, ended("a", "Bash")])).stderr
      .replace("● Bash make\n", "")
      .replace("  ✓ 1.2 s\n", "");

  test("forty lines: the first ones, how many more there were, and the last ones", async () => {
    expect(await shown(...counting(100_000))).toBe(
      `${numbers(1, 30)}    … 99,960 more lines (-v shows all)\n${numbers(99_991, 100_000)}`,
    );
    expect(await shown(...counting(41))).toBe(`${numbers(1, 30)}    … 1 more line (-v shows all)\n${numbers(32, 41)}`);
  });

  test("all that is no more than forty lines", async () => {
    expect(await shown(...counting(40))).toBe(numbers(1, 40));
  });

  test("the first lines as they come", async () => {
    expect((await sinkRun([make, printed("a", "one\ntw")])).stderr).toBe("● Bash make\n    one\n");
  });

  test("whole lines, also the one that is not ended", async () => {
    expect(await shown(printed("a", "one\r"), printed("a", "\ntwo\rthr"), printed("a", "ee"))).toBe(
      "    one\n    two\n    three\n",
    );
  });

  test("the beginning of a line that is far too long", async () => {
    const long = Array.from({ length: 64 }, () => printed("a", "y".repeat(16_384)));
    expect(await shown(...long, printed("a", "\nend"))).toBe(`    ${"y".repeat(1_000)}…\n    end\n`);
  });

  test("everything with --verbose", async () => {
    const { stderr } = await sinkRun([make, ...counting(1_000), ended("a", "Bash")], { verbose: true });
    expect(stderr).toEndWith(`${numbers(1, 1_000)}  ✓ 1.2 s\n`);
  });
});

test("on a terminal live output of one call ends at some point, and --verbose shows all of it", async () => {
  const events = [
    call("a", "Bash", { command: "x" }),
    ...Array.from({ length: 64 }, () => printed("a", "y".repeat(16_384))),
  ];
  const short = (await sinkRun(events, { stderrIsTerminal: true })).stderr;
  expect(short).toContain("… more output is not shown (-v shows all)\n");
  expect(short.length).toBeLessThan(400_000);
  expect((await sinkRun(events, { verbose: true })).stderr.length).toBeGreaterThan(64 * 16_384);
});

test("there are colours only where they are wanted", async () => {
  // eslint-disable-next-line no-control-regex -- escape characters are what is looked for
  const escapes = /\u001b/;
  expect((await sinkRun(run)).stderr).not.toMatch(escapes);
  expect((await sinkRun(run, { color: true })).stderr).toMatch(escapes);
});

describe("what a run reached", () => {
  type Wish = Partial<Omit<EventOf<"egress">, "type">>;
  const wish = (changes: Wish = {}): Event => ({
    type: "egress",
    via: "http",
    host: "example.com",
    port: 443,
    verdict: "refused",
    reason: "example.com is not on the allowlist (--allow-net example.com allows it)",
    ...changes,
  });
  const line = "! egress: example.com:443 refused: not on the allowlist (--allow-net example.com allows it)\n";

  test("and was refused is a line, with the flag that would allow it", async () => {
    expect((await sinkRun([wish()])).stderr).toBe(line);
  });

  const reasons: readonly [wish: Wish, words: string][] = [
    [
      { port: 22, reason: "example.com:22 is not on the allowlist" },
      "egress: example.com:22 refused: not on the allowlist",
    ],
    [{ host: "::1", reason: "[::1] is a loopback address" }, "egress: [::1]:443 refused: a loopback address"],
    [
      { reason: "example.com resolves to 10.0.0.1, which is a private address" },
      "egress: example.com:443 refused: example.com resolves to 10.0.0.1, which is a private address",
    ],
    [
      { verdict: "failed", reason: "example.com:443 did not answer within 15 s" },
      "egress: example.com:443 failed: example.com:443 did not answer within 15 s",
    ],
    [{ reason: "a\u001b[2Jb" }, "egress: example.com:443 refused: a\\u001b[2Jb"],
    [{ reason: "a\nkoda: b\u202e" }, "egress: example.com:443 refused: a\\nkoda: b\\u202e"],
  ];
  for (const [changes, words] of reasons)
    test(words, async () => expect((await sinkRun([wish(changes)])).stderr).toBe(`! ${words}\n`));

  test("is told once of each, however often a client tries", async () => {
    const { stderr } = await sinkRun([wish(), wish({ tool: "b" }), wish({ host: "other.test" }), wish()]);
    expect(stderr.split("\n")).toHaveLength(3);
    expect((await sinkRun([wish(), wish()], { verbose: true })).stderr).toBe(line + line);
  });

  test("with leave is told with --verbose alone", async () => {
    const allowed: Event = { type: "egress", via: "socks", host: "example.com", port: 443, verdict: "allowed" };
    expect((await sinkRun([allowed])).stderr).toBe("");
    expect((await sinkRun([allowed], { verbose: true })).stderr).toBe("  egress: example.com:443 allowed\n");
  });

  test("does not break a silence that was asked for", async () => {
    expect((await sinkRun([wish()], { quiet: true })).stderr).toBe("");
  });

  test("stands on a line of its own among what a command prints", async () => {
    const { stderr } = await sinkRun([
      call("a", "Bash", { command: "npm ci" }),
      printed("a", "fetching\n"),
      wish({ tool: "a" }),
      printed("a", "failed\n"),
      ended("a", "Bash", { ok: false, exit_code: 1 }),
    ]);
    expect(stderr).toBe(`● Bash npm ci\n    fetching\n${line}    failed\n  ✗ exit 1 · 1.2 s\n`);
  });
});
