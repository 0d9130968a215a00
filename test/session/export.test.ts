import { expect, test } from "bun:test";
import { type ExportFormat, exportSession } from "../../lib/session/export.ts";
import type { Item, LoggedItem } from "../../lib/session/item.ts";
import type { SessionInfo } from "../../lib/session/log.ts";
import { call, reply, result, user } from "../support/sessions.ts";

const info: SessionInfo = {
  id: "mine",
  parent: "theirs",
  root: "theirs",
  title: "Fix the bug",
  cwd: "/project",
  model: "big",
  provider: "corp",
  mode: "auto",
  runAs: null,
  createdAt: Date.UTC(2026, 10, 18, 12),
  updatedAt: Date.UTC(2026, 10, 18, 13),
  length: 0,
  turns: 1,
  costUsd: 0.25,
  ended: "limit",
  usage: { input: 1000, cached: 10, output: 234, reasoning: null },
};

const alone = { version: "1.2.3", shortId: "mine", agents: [], agent: () => undefined };

function exported(format: ExportFormat, items: readonly Item[], about = info): string {
  const at = Date.UTC(2026, 10, 18, 12);
  const logged = items.map((item, index): LoggedItem => ({ seq: index + 1, turn: 1, at, ...item }));
  return [...exportSession({ ...alone, info: about, total: about, items: logged }, format)].join("");
}

const conversation: Item[] = [
  { kind: "turn_start" },
  user("What is\nin here?"),
  {
    ...reply("I look.", call("c1", "Bash", { command: "ls" })),
    parts: [{ type: "thinking", text: "hm" }, { type: "text", text: "I look." }, call("c1", "Bash", { command: "ls" })],
  },
  { ...result("c1", "a\nb\n"), exitCode: 0, output: "o1" },
  { kind: "note", text: "koda's own words" },
  reply("Two files: `a` and `b`."),
  { kind: "turn_end", reason: "limit", error: { code: "max_turns", message: "200 turns are over" } },
];

test("markdown", () => {
  expect(exported("markdown", conversation)).toBe(`# Fix the bug

- Session: \`mine\`
- Forked from: \`theirs\`
- Directory: \`/project\`
- Model: \`corp/big\`
- Started: \`2026-11-18T12:00:00.000Z\`
- Last activity: \`2026-11-18T13:00:00.000Z\`
- Turns: \`1\`
- Tokens: \`1,234\`
- Cost: \`$0.2500\`

## Turn 1

*2026-11-18T12:00:00.000Z*

**Prompt**

> What is
> in here?

*Thinking*

> hm

I look.

**Bash**

\`\`\`
{
  "command": "ls"
}
\`\`\`

**result of Bash, exit code 0, output o1**

\`\`\`
a
b
\`\`\`

Two files: \`a\` and \`b\`.

*The turn ended early (limit: 200 turns are over)*
`);
});

test("nothing in a command's output ends its fence", () => {
  const text = "```\n# not a heading\n````` five\n";
  expect(exported("markdown", [result("c1", text)])).toEndWith(`\n\`\`\`\`\`\`\n${text}\`\`\`\`\`\`\n`);
});

test("jsonl has the session first, then an item a line, named as events are", () => {
  const lines = exported("jsonl", conversation)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines[0]).toEqual({
    kind: "session",
    id: "mine",
    title: "Fix the bug",
    cwd: "/project",
    model: "big",
    created_at: "2026-11-18T12:00:00.000Z",
    updated_at: "2026-11-18T13:00:00.000Z",
    turns: 1,
    tokens: 1234,
    cost_usd: 0.25,
    parent: "theirs",
  });
  expect(
    lines
      .slice(1)
      .map(({ seq, kind }) => `${seq} ${kind}`)
      .join(", "),
  ).toBe("1 turn_start, 2 user, 3 assistant, 4 result, 5 note, 6 assistant, 7 turn_end");
  expect(lines[4]).toMatchObject({ turn: 1, exit_code: 0, duration_ms: 1, output: "o1" });
});

test("tokens that nobody reported are unknown, not 0", () => {
  const unknown = { input: null, cached: null, output: null, reasoning: null };
  expect(JSON.parse(exported("jsonl", [], { ...info, usage: unknown })).tokens).toBeNull();
  expect(exported("markdown", [], { ...info, usage: unknown })).not.toContain("Tokens");
});

const hostile = `</pre><script>alert(1)</script><img src=x onerror="alert(1)"> & ' "`;

test("html is one file in which all text is text", async () => {
  const page = exported(
    "html",
    [
      { kind: "turn_start" },
      user(hostile),
      {
        ...reply(hostile),
        parts: [
          { type: "thinking", text: hostile },
          { type: "call", id: "c", tool: hostile, arguments: hostile },
        ],
      },
      { ...result("c", hostile, hostile), denied: hostile },
      { kind: "user", parts: [{ type: "image", mime: `image/png" onerror="x`, base64: `AAAA" onerror="x` }] },
      { kind: "turn_end", reason: "error", error: { code: "network", message: hostile } },
    ],
    { ...info, title: hostile, cwd: hostile, model: hostile },
  );
  const elements = new Set<string>();
  const sources: string[] = [];
  const rewriter = new HTMLRewriter().on("*", {
    element(element) {
      elements.add(element.tagName);
      for (const [name, value] of element.attributes) {
        expect(name).not.toStartWith("on");
        if (name === "src" || name === "href") sources.push(value);
      }
    },
  });
  await rewriter.transform(new Response(page)).text();
  expect([...elements].filter((name) => ["script", "link", "iframe", "object", "a"].includes(name))).toEqual([]);
  expect(sources).toHaveLength(1);
  expect(sources[0]).toStartWith("data:image/png");
  expect(page).toContain("default-src 'none'");
  expect(page.split("&lt;script&gt;alert(1)&lt;/script&gt;").length - 1).toBeGreaterThanOrEqual(9);
  expect(page).toStartWith("<!doctype html>");
  expect(page).toEndWith("</html>\n");
});

test("html has what a call came to right behind it, under its command or path", () => {
  const long = Array.from({ length: 40 }, (_, line) => `line ${line}`).join("\n");
  const page = exported("html", [
    {
      ...reply("Both at once."),
      parts: [
        { type: "text", text: "**Both** at once." },
        call("c1", "Bash", { command: "npm test\nnpm run build" }),
        call("c2", "Read", { path: "src/a.ts" }),
        call("c3", "Bash", { command: "git push --force" }),
      ],
    },
    result("c2", long, "Read"),
    { ...result("c1", "one failed\n"), ok: false, exitCode: 1 },
    { ...result("c3", "no"), ok: false, denied: "destructive" },
    reply("Done."),
    reply("", call("c1", "Bash", { command: "sleep" })),
    result("gone", "left over"),
  ]);
  const text = page
    .slice(page.indexOf("</dl>"))
    .replaceAll(/<[^>]+>/g, "|")
    .replaceAll(/\|[|\s]*/g, "|");
  expect(text).toBe(
    [
      "|Both|at once.",
      "|Bash|npm test ⏎ npm run build|exit 1|command|npm test\nnpm run build|one failed",
      `|Read|src/a.ts|✓|path|src/a.ts|40 lines|${long}`,
      "|Bash|git push --force|denied: destructive|command|git push --force|no",
      "|Done.",
      "|Bash|sleep|no result|command|sleep",
      "|Bash|✓|left over|",
    ].join(""),
  );
});

test("html allows itself its own style and nothing else", () => {
  const page = exported("html", conversation);
  const rules = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1];
  const style = /<style>([^]*)<\/style>/.exec(page)?.[1] ?? "";
  const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
  expect(rules).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`,
  );
  expect(page).not.toMatch(/ style="/);
});

test("a session without a title is headed by its id", () => {
  expect(exported("markdown", [], { ...info, title: "" })).toStartWith("# mine\n");
  expect(exported("html", [], { ...info, title: "" })).toContain("<title>mine</title>");
});
