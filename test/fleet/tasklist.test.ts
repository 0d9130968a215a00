import { describe, expect, test } from "bun:test";
import { KodaError } from "../../lib/errors.ts";
import { readTaskList } from "../../lib/fleet/list/tasklist.ts";
import { readRepositoryList } from "../../lib/fleet/list/repositorylist.ts";
import { defaultFlags, openTaskOptions } from "../../cmd/taskoptions.ts";
import { promptFileReader } from "../../lib/fleet/list/promptfile.ts";
import { parseArguments } from "../../cmd/arguments.ts";
import { makePlace } from "../support/place.ts";

type Reading = { directory?: string; flags?: readonly string[]; noSandbox?: boolean };

async function read(text: string | Uint8Array, { directory = "/lists", flags = [], noSandbox = false }: Reading = {}) {
  const parsed = parseArguments("batch submit", ["tasks.jsonl", ...flags]);
  const defaults = typeof parsed === "symbol" ? new Map() : defaultFlags({ ...parsed });
  return await readTaskList(typeof text === "string" ? Buffer.from(text) : text, {
    name: "tasks.jsonl",
    directory,
    defaults: flags.join(" "),
    prompt: promptFileReader(directory),
    options: openTaskOptions({ defaults, directory, noSandbox }),
  });
}

async function refusal(text: string | Uint8Array, reading: Reading = {}): Promise<string> {
  const error = await read(text, reading).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KodaError)) throw new Error(`expected a refusal, not ${String(error)}`);
  expect(error.code).toBe("usage");
  return error.message;
}

const row = (more: Record<string, unknown> = {}) => JSON.stringify({ key: "a", prompt: "do it", ...more });

test("what is wrong with a row does not hide its key", async () => {
  const rows = [row({ after: ["b"] }), row({ key: "b", promt: "x" }), row({ key: "b", after: ["c"] })];
  expect((await refusal(rows.join("\n"))).split("\n")).toEqual([
    "3 mistakes in the task list",
    'tasks.jsonl:2: "promt": unknown field (did you mean "prompt"?)',
    'tasks.jsonl:3: "key" "b": already used on line 2, expected a unique key',
    'tasks.jsonl:3: "after": there is no task "c"',
    "Nothing was submitted.",
  ]);
});

test("a whole row becomes a task with absolute places and the flags of its own koda", async () => {
  const text = row({
    repo: "../project",
    ref: "main",
    dir: "packages/a",
    options: { model: "openai/gpt-5", "max-cost": 1.5, "allow-write": ["shared"], "fail-on": "denied", timeout: "10m" },
    labels: ["gpu"],
    publish: { branch: "koda/a" },
  });
  const { tasks } = await read(text, { flags: ["--max-turns", "9", "--timeout", "5m"] });
  expect(tasks).toEqual([
    {
      key: "a",
      prompt: "do it",
      repo: "/project",
      ref: "main",
      dir: "packages/a",
      args: [
        "--max-turns=9",
        "--timeout=10m",
        "--model=openai/gpt-5",
        "--allow-write=/lists/shared",
        "--fail-on=denied",
      ],
      maxCost: 1.5,
      after: [],
      group: "openai",
      labels: ["gpu"],
      publish: { branch: "koda/a" },
    },
  ]);
});

test("a task takes a flag of the command line back", async () => {
  const flags = ["--allow-git", "--allow-net", "a.example,b.example"];
  const text = `${row()}\n${row({ key: "b", options: { "allow-git": false, "allow-net": [] } })}`;
  const [first, second] = (await read(text, { flags })).tasks;
  expect(first?.args).toEqual(["--allow-git", "--allow-net=a.example", "--allow-net=b.example"]);
  expect(second?.args).toEqual([]);
});

describe("a broken line is named", () => {
  const rows: readonly (readonly [name: string, text: string | Uint8Array, ...parts: string[]])[] = [
    ["no JSON", `${row()}\n{"key":`, "tasks.jsonl:2: the line is not valid JSON: Unexpected"],
    ["an array of several lines", `[\n${row()}\n]`, "tasks.jsonl:1: the line is not valid", "one JSON object per line"],
    ["no object", "[1]", "tasks.jsonl:1: [1]: expected an object"],
    ["an unknown field", row({ promt: "x" }), 'tasks.jsonl:1: "promt": unknown field (did you mean "prompt"?)'],
    ["no key", '{"prompt":"x"}', '"key" is missing: expected 1 to 48'],
    ["a key with a slash", row({ key: "../a" }), '"key" "../a": expected 1 to 48 of the characters'],
    ["a key that begins with a dot", row({ key: ".." }), '"key" "..": expected'],
    ["a key that looks like a flag", row({ key: "-a" }), '"key" "-a": expected'],
    ["a long key", row({ key: "x".repeat(49) }), "expected 1 to 48"],
    ["a duplicate key", `${row()}\n\n${row()}`, 'tasks.jsonl:3: "key" "a": already used on line 1'],
    ["a key in another case", `${row()}\n${row({ key: "A" })}`, 'tasks.jsonl:2: "key" "A": it differs from "a"'],
    ["a key like an attempt", `${row()}\n${row({ key: "a.2" })}`, 'a later attempt of "a" has the same name'],
    ["both prompts", row({ prompt_file: "x" }), '"prompt" and "prompt_file": expected one of them'],
    ["no prompt", '{"key":"a"}', '"prompt" is missing: expected "prompt" or "prompt_file"'],
    ["an empty prompt", row({ prompt: "  " }), '"prompt" "  ": expected a non-empty string'],
    ["a missing file", '{"key":"a","prompt_file":"gone.md"}', '"prompt_file" "gone.md": no such file'],
    [
      "an unknown option",
      row({ options: { "max-turn": 3 } }),
      '"options.max-turn": unknown option (did you mean "max-turns"?)',
    ],
    [
      "an option of the batch",
      row({ options: { session: "x" } }),
      '"options.session": a task cannot have this flag of koda exec',
    ],
    ["no sandbox", row({ options: { "no-sandbox": true } }), "give the flag to koda batch run or koda worker"],
    ["another project", row({ options: { cd: "/" } }), 'name a directory in "dir"'],
    [
      "a bad value",
      row({ options: { "max-turns": "many" } }),
      '"options": --max-turns "many": expected a positive integer',
    ],
    ["a model without a name", row({ options: { model: "openai/" } }), '"options": --model "openai/": expected a name'],
    ["a bad switch", row({ options: { "allow-git": "yes" } }), '"options.allow-git" "yes": expected true or false'],
    ["a bad choice", row({ options: { mode: "atuo" } }), '--mode "atuo": expected', '(did you mean "auto"?)'],
    ["a URL for a host", row({ options: { "allow-net": ["http://a/"] } }), '"http://a/" is not a host pattern'],
    ["a missing schema", row({ options: { "output-schema": "no.json" } }), 'Cannot use the schema "/lists/no.json"'],
    ["needs", row({ options: { "verify-attempts": 2 } }), "--verify-attempts requires --verify"],
    ["after nothing", row({ after: ["b"] }), '"after": there is no task "b"'],
    ["after itself", row({ after: ["a"] }), '"after": "a" depends on itself'],
    ["after something else", row({ after: "b" }), '"after" "b": expected a list of keys'],
    ["publish without repo", row({ publish: { branch: "x" } }), '"publish" requires "repo"'],
    [
      "a bad branch",
      row({ repo: "x", publish: { branch: "a..b" } }),
      '"publish.branch" "a..b": git would refuse this name',
    ],
    ["another transport", row({ repo: "ext::sh -c id" }), '"repo": expected a URL', "not another transport"],
    ["a flag for git", row({ repo: "--upload-pack=id" }), '"repo": expected a URL'],
    ["a ref like a flag", row({ repo: "x", ref: "-x" }), '"ref" "-x": expected a branch'],
    ["a ref alone", row({ ref: "main" }), '"ref" requires "repo"'],
    ["out of the clone", row({ repo: "x", dir: "../y" }), '"dir" "../y": expected a directory in the clone'],
    ["a bad label", row({ labels: ["a b"] }), '"labels" "a b": expected a list of labels'],
    ["a bad group", row({ group: "" }), '"group" "": expected 1 to 64'],
    ["no UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "tasks.jsonl:1: the line is not UTF-8 text"],
    ["10 MB", row({ prompt: "x".repeat(10_000_000) }), "tasks.jsonl:1: the line has 10 MiB: expected at most 4 MiB"],
    ["an empty list", " \n\n", "There is no task in tasks.jsonl"],
  ];
  for (const [name, text, ...parts] of rows)
    test(name, async () => {
      const message = await refusal(text);
      for (const part of parts) expect(message).toContain(part);
      expect(message.length).toBeLessThan(1_000);
    });
});

test("a password in a URL is not repeated", async () => {
  const message = await refusal(row({ repo: "https://koda:hunter2@example.com/x" }));
  expect(message).toContain("the URL has a password");
  expect(message).not.toContain("hunter2");
});

test.each([
  ["https://ghp_0123456789abcdef0123456789abcdef0123@example.com/x", "ghp_"],
  ["https://koda:hunter/2@example.com/x", "hunter"],
  ["https://koda@b:hunter2@example.com/x", "hunter2"],
])("neither is that of %s", async (repo, secret) => {
  const message = await refusal(row({ repo }));
  expect(message).toContain("the URL has a password");
  expect(message).not.toContain(secret);
});

test.each([
  "https://koda@example.com/x",
  "ssh://git@example.com:22/@x",
  "ssh://git@[::1]:22/@x",
  "https://example.com:8443/@x/y",
])("%s has no password", async (repo) => {
  expect((await read(row({ repo }))).tasks[0]?.repo).toBe(repo);
});

test("a circle is printed", async () => {
  const text = ["a", "b", "c"].map((key, at) => row({ key, after: [["b"], ["c"], ["a"]][at] })).join("\n");
  expect(await refusal(text)).toContain("wait for each other: a → b → c → a");
});

test("all mistakes are named at once, in the order of the lines, and the number of those that are too many", async () => {
  const message = await refusal(Array.from({ length: 30 }, () => "{}").join("\n"));
  expect(message).toStartWith("60 mistakes in the task list\ntasks.jsonl:1: ");
  expect(message).toEndWith("\nand 40 more\nNothing was submitted.");
});

test("prompt and schema are read relative to the list", async () => {
  await using place = makePlace({ "p.md": "from a file", "s.json": '{"type":"object"}' });
  const text = '{"key":"a","prompt_file":"p.md","options":{"output-schema":"s.json"}}';
  const { tasks } = await read(text, { directory: place.project });
  expect(tasks[0]).toMatchObject({ prompt: "from a file", schema: { type: "object" }, args: [] });
});

test("a model without a provider, which may be a path, names no group", async () => {
  const text = `${row({ options: { model: "/models/a" } })}\n${row({ key: "b", options: { model: "openai/a" } })}`;
  expect((await read(text)).tasks.map(({ group }) => group)).toEqual(["default", "openai"]);
});

test("a chain of 10,000 rows is no circle", async () => {
  const rows = Array.from({ length: 10_000 }, (_, at) =>
    row({ key: `task-${at}`, after: at === 0 ? [] : [`task-${at - 1}`], options: { "max-turns": 5 } }),
  );
  expect((await read(rows.join("\n"))).tasks).toHaveLength(10_000);
});

test("tasks that would replace each other's branch are refused, and those that go on with it are not", async () => {
  const publishing = (key: string, more: Record<string, unknown> = {}) =>
    row({ key, repo: "/r", publish: { branch: "fix" }, ...more });
  const rows = [
    publishing("a"),
    publishing("b", { repo: "/other" }),
    publishing("c", { ref: "fix", after: ["a"] }),
    publishing("d", { ref: "refs/heads/fix", after: ["c"] }),
  ];
  expect((await read(rows.join("\n"))).tasks).toHaveLength(4);
  expect((await refusal([...rows, publishing("e", { ref: "main" })].join("\n"))).split("\n")[1]).toBe(
    'tasks.jsonl:5: "publish" "fix": line 1 publishes this branch of the same repository, and one would replace what ' +
      "the other did: expected another branch, or this one as the ref too",
  );
});

test("the digest is that of the content, wherever the list lies", async () => {
  const digests = await Promise.all([
    read(row({ dir: "x" }), { directory: "/a" }),
    read(row({ dir: "x" }), { directory: "/b" }),
    read(row({ dir: "y" }), { directory: "/a" }),
    read(row({ dir: "x" }), { directory: "/a", flags: ["--max-turns", "3"] }),
  ]);
  const [one, same, other, flagged] = digests.map(({ digest }) => digest);
  expect(one).toBe(same ?? "");
  expect(new Set([one, other, flagged]).size).toBe(3);
});

const repositories = (lines: readonly string[], branch?: string) =>
  readRepositoryList(Buffer.from(lines.join("\n")), {
    name: "repos.txt",
    directory: "/lists",
    defaults: "",
    prompt: "do it",
    branch,
    shared: { args: [], provider: undefined },
  });

test("repositories make a task each, with keys of their own", async () => {
  const lines = [
    "# ours",
    "https://example.com/alpha/core.git",
    "git@example.com:beta/core.git main",
    "git@example.com:beta/core.git next",
    "../tools v1.2",
    "https://example.com/alpha/web.js",
    "https://example.com/alpha/v1.2",
  ];
  const { tasks } = await repositories(lines);
  expect(tasks.map(({ key }) => key)).toEqual([
    "alpha-core",
    "beta-core-main",
    "beta-core-next",
    "tools",
    "web.js",
    "v1-2",
  ]);
  expect(tasks[3]).toMatchObject({ repo: "/tools", ref: "v1.2", prompt: "do it", group: "default" });
});

test("repositories publish a branch each, which is a part of the list", async () => {
  const plain = await repositories(["one", "two"]);
  const published = await repositories(["one", "two next"], "koda/fix");
  expect(plain.tasks.map(({ publish }) => publish)).toEqual([undefined, undefined]);
  expect(published.tasks.map(({ publish }) => publish)).toEqual([{ branch: "koda/fix" }, { branch: "koda/fix" }]);
  expect((await repositories(["one", "two"], "koda/fix")).digest).not.toBe(plain.digest);
  await expect(repositories(["one", "# two", "one next"], "koda/fix")).rejects.toThrow(
    'repos.txt:3: "publish" "koda/fix": line 1 publishes this branch of the same repository',
  );
});
