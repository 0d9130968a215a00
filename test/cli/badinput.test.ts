import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Database } from "bun:sqlite";
import { binary, exec, follow, koda, type RanExec, start, using } from "../support/koda.ts";
import { openStore } from "../../lib/session/store.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { isRoot } from "../support/nobody.ts";
import { makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

type Row = {
  name: string;
  /** Puts what is bad into its place; returns further flags. */
  spoil: (place: Place) => string[] | void;
  exit: number;
  /** The expected message. */
  says: string[];
  prompt?: string[];
};

const config = (place: Place) => join(place.home, ".config/koda/config.json");
const database = (place: Place) => join(place.home, ".local/share/koda/koda.db");

function put(path: string, content: string | Uint8Array): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, content);
}

const rows: Row[] = [
  {
    name: "a config that is not JSON",
    spoil: (p) => put(config(p), '{ "model": '),
    exit: 2,
    says: ["config.json", "1:"],
  },
  {
    name: "a misspelt key",
    spoil: (p) => put(config(p), '{ "modle": "x" }'),
    exit: 2,
    says: ['"modle"', 'mean "model"'],
  },
  {
    name: "a key of the wrong type",
    spoil: (p) => put(config(p), '{ "limits": { "max_turns": "many" } }'),
    exit: 2,
    says: ["limits.max_turns", '"many"'],
  },
  {
    name: "a directory for a config",
    spoil: (p) => void mkdirSync(config(p), { recursive: true }),
    exit: 2,
    says: ["directory"],
  },
  {
    name: "a project config that is not JSON",
    spoil: (p) => void p.write(".koda/config.json", "{,}"),
    exit: 2,
    says: [".koda/config.json"],
  },
  { name: "a bad --config value", spoil: () => ["--config", "limits.max_turn=3"], exit: 2, says: ["max_turns"] },
  {
    name: "a database that is none",
    spoil: (p) => put(database(p), "this is no database, just a text ".repeat(40)),
    exit: 10,
    says: ["koda.db"],
  },
  {
    name: "a directory for a database",
    spoil: (p) => void mkdirSync(database(p), { recursive: true }),
    exit: 10,
    says: ["koda.db"],
  },
  { name: "a database of a newer koda", spoil: newerDatabase, exit: 10, says: ["newer"] },
  {
    name: "a data directory that is a file",
    spoil: (p) => put(join(p.home, ".local/share/koda"), "x"),
    exit: 10,
    says: ["koda"],
  },
  { name: "a schema file that is not there", spoil: () => ["--output-schema", "no.json"], exit: 2, says: ["no.json"] },
  {
    name: "a schema file that is not JSON",
    spoil: (p) => (p.write("s.json", "{"), ["--output-schema", "s.json"]),
    exit: 2,
    says: ["s.json", "JSON"],
  },
  {
    name: "a schema that is no object",
    spoil: (p) => (p.write("s.json", "[]"), ["--output-schema", "s.json"]),
    exit: 2,
    says: ["object"],
  },
  {
    name: "a schema with a bad pattern",
    spoil: (p) => (p.write("s.json", '{"properties":{"a":{"pattern":"("}}}'), ["--output-schema", "s.json"]),
    exit: 2,
    says: ['"/properties/a/pattern" is "(", expected a regular expression'],
  },
  {
    name: "a schema with an unknown type",
    spoil: (p) => (p.write("s.json", '{"type":"objekt"}'), ["--output-schema", "s.json"]),
    exit: 2,
    says: ['"/type" is "objekt"', '"object"'],
  },
  {
    name: "a schema that refers to another file",
    spoil: (p) => (p.write("s.json", '{"items":{"$ref":"t.json"}}'), ["--output-schema", "s.json"]),
    exit: 2,
    says: ['"/items/$ref" is "t.json"', "within the file"],
  },
  {
    name: "a schema with a dangling reference",
    spoil: (p) => (p.write("s.json", '{"$ref":"#/nowhere"}'), ["--output-schema", "s.json"]),
    exit: 2,
    says: ["nowhere"],
  },
  {
    name: "a schema that is nested too deep",
    spoil: (p) => (
      p.write("s.json", `${'{"not":'.repeat(20_000)}{}${"}".repeat(20_000)}`),
      ["--output-schema", "s.json"]
    ),
    exit: 2,
    says: ["s.json", "it is nested more than 1,000 levels deep"],
  },
  { name: "a cassette that is not there", spoil: () => ["--replay", "no.tape"], exit: 2, says: ["no.tape"] },
  {
    name: "a cassette that is none",
    spoil: (p) => (p.write("bad.tape", "hello\n"), ["--replay", "bad.tape"]),
    exit: 2,
    says: ["bad.tape"],
  },
  {
    name: "a cassette that cannot be written",
    spoil: () => ["--record", "no/such/dir/x.tape"],
    exit: 11,
    says: ["x.tape"],
  },
  { name: "an image that is not there", spoil: () => ["-i", "no.png"], exit: 2, says: ["no.png"] },
  {
    name: "an image that is none",
    spoil: (p) => (p.write("x.png", "text"), ["-i", "x.png"]),
    exit: 2,
    says: ["x.png"],
  },
  {
    name: "an image that was cut short",
    spoil: (p) => (p.write("x.png", Buffer.from("\x89PNG\r\n\x1a\nhalf", "latin1")), ["-i", "x.png"]),
    exit: 2,
    says: ["x.png", "it is truncated"],
  },
  { name: "a prompt file that is not there", spoil: () => {}, prompt: ["-f", "no.md"], exit: 2, says: ["no.md"] },
  {
    name: "a prompt file that is a directory",
    spoil: (p) => void mkdirSync(join(p.project, "d")),
    prompt: ["-f", "d"],
    exit: 2,
    says: ["directory"],
  },
  {
    name: "a prompt file that is not UTF-8",
    spoil: (p) => void p.write("p.md", new Uint8Array([0xc3, 0x28, 0xff])),
    prompt: ["-f", "p.md"],
    exit: 2,
    says: ["UTF-8"],
  },
  {
    name: "a prompt file of 11 MB",
    spoil: (p) => void p.write("p.md", "x".repeat(11 * 1024 * 1024)),
    prompt: ["-f", "p.md"],
    exit: 2,
    says: ["10 MiB"],
  },
  { name: "an empty prompt", spoil: () => {}, prompt: [""], exit: 2, says: ["prompt"] },
  { name: "no prompt", spoil: () => {}, prompt: [], exit: 2, says: ["prompt"] },
  {
    name: "two prompts",
    spoil: (p) => (p.write("p.md", "x"), ["-f", "p.md"]),
    exit: 2,
    says: ["cannot be used together"],
  },
  { name: "a project directory that is not there", spoil: () => ["-C", "nowhere"], exit: 2, says: ["nowhere"] },
  { name: "a project that is a file", spoil: (p) => (p.write("f", ""), ["-C", "f"]), exit: 2, says: ['"f"'] },
  {
    name: "a writable directory that is not there",
    spoil: () => ["--allow-write", "nowhere"],
    exit: 2,
    says: ["nowhere"],
  },
  {
    name: "a project in a hidden directory",
    spoil: ({ home }) => (mkdirSync(join(home, ".ssh/x"), { recursive: true }), ["-C", join(home, ".ssh/x")]),
    exit: 2,
    says: [".ssh/x", "--allow-read"],
  },
  {
    name: "opening koda's own state",
    spoil: (p) => ["--allow-read", join(database(p), "..")],
    exit: 2,
    says: ["koda keeps its own state there"],
  },
  {
    name: "hiding what every program needs",
    spoil: () => ["--deny-read", "/usr,/bin"],
    exit: 7,
    says: ["/bin/true", "--deny-read"],
  },
  { name: "a bad session id", spoil: () => ["--session", "a/b"], exit: 2, says: ["a/b"] },
  { name: "a KODA_HOME that is relative", spoil: (p) => void (p.env.KODA_HOME = "here"), exit: 2, says: ["KODA_HOME"] },
];

function newerDatabase(place: Place): void {
  mkdirSync(join(database(place), ".."), { recursive: true });
  openStore(database(place)).close();
  const db = new Database(database(place));
  db.run("PRAGMA user_version = 9999");
  db.close();
}

describe("koda exec refuses", () => {
  for (const { name, spoil, exit, says, prompt = ["hi"] } of rows)
    test.concurrent(name, async () => {
      await using place = makePlace();
      await using server = await startModelServer([]);
      const flags = spoil(place) ?? [];
      const { end, stderr } = await exec(place, server, [...flags, ...prompt]);
      expect({ exit: end.exit, session: end.session }, stderr).toEqual({ exit, session: null });
      for (const text of says) expect(stderr).toContain(text);
      expect(stderr).not.toContain("    at ");
      expect(server.requests).toHaveLength(0);
    });
});

test("a directory that is gone before the start is said to be gone", async () => {
  await using place = makePlace({ "gone/x": "" });
  // The runtime below koda looks for its directory before koda can, so the message is its own, and there is no event.
  const argv = ["sh", "-c", 'rm -r ../gone; exec "$0" exec --json --no-sandbox hi', binary];
  const { exit, stderr } = await runIn(place, argv, { cwd: join(place.project, "gone") });
  expect(exit).toBe(1);
  expect(stderr).toContain("working directory was deleted");
});

test("a directory that goes away during the run is told to the model", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    [call("Bash", { command: "echo still here" }), call("Read", { path: "a" }), call("List", {})],
    say("It is gone."),
  ]);
  const child = start(place, ["exec", "--json", ...using(server), "go"]);
  const running = follow(child);
  await running.until(({ type }) => type === "session.start");
  rmSync(place.project, { recursive: true });
  const { end } = await running.finished();
  expect(end).toMatchObject({ status: "done", text: "It is gone." });
});

test("file tools refuse what is no file, and the run goes on", async () => {
  await using place = makePlace();
  rmSync(join(place.project, "loop"), { force: true });
  symlinkSync("loop", join(place.project, "loop"));
  symlinkSync("/etc", join(place.project, "out"));
  Bun.spawnSync(["mkfifo", join(place.project, "fifo")]);
  Bun.spawnSync(["truncate", "-s", "3G", join(place.project, "huge")]);
  // Not in /tmp, which is another one for this run.
  const outside = `/var/tmp/koda-outside-${crypto.randomUUID()}`;
  await using server = await startModelServer([
    [
      call("Read", { path: "fifo" }),
      call("Read", { path: "/dev/zero" }),
      call("Read", { path: "loop" }),
      call("Read", { path: "huge" }),
      call("Write", { path: "out/koda-was-here", content: "x" }),
      call("Write", { path: outside, content: "x" }),
      call("Delete", { path: ".", recursive: true }),
      call("Edit", { path: "fifo", edits: [{ old: "a", new: "b" }] }),
    ],
    say("None of it worked."),
  ]);
  const { end, events }: RanExec = await exec(place, server, ["try"]);
  expect(end.status).toBe("done");
  const results = events.filter((event) => event.type === "tool.end");
  expect(results).toHaveLength(8);
  // The huge file is text as far as anyone can tell: its beginning may be shown, and nothing is swallowed whole.
  expect(results.filter(({ ok }) => ok).length).toBeLessThanOrEqual(1);
  expect(end.tools.denied).toBe(3);
  for (const path of ["/etc/koda-was-here", outside]) expect(await Bun.file(path).exists()).toBe(false);
});

test("a model that is never done is ended by the turn limit with what it said", async () => {
  await using place = makePlace();
  await using server = await startModelServer((request, index) =>
    request.raw.includes("last reply") ? say("This is as far as I came.") : call("Bash", { command: `echo ${index}` }),
  );
  const { end } = await exec(place, server, ["--max-turns", "5", "go"]);
  expect(end).toMatchObject({ status: "limit", exit: 5, text: "This is as far as I came." });
  expect(server.requests).toHaveLength(5);
});

test("an unknown command and an unknown flag name the nearest", async () => {
  await using place = makePlace();
  const command = await koda(place, ["exce", "hi"]);
  expect(command).toMatchObject({ exit: 2, stdout: "" });
  expect(command.stderr).toContain('"exec"');
  const flag = await koda(place, ["exec", "--modle", "gpt", "hi"]);
  expect(flag).toMatchObject({ exit: 2, stdout: "" });
  expect(flag.stderr).toContain('"--model"');
});

test.each(["exec", "sandbox"])("%s says of a project that may not be entered that this is so", async (command) => {
  await using place = makePlace();
  chmodSync(place.project, 0o600);
  // Root enters every directory, unless it is without these rights.
  const bound = isRoot ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : [];
  const args = [command, "-C", place.project, ...(command === "sandbox" ? ["--", "true"] : ["hi"])];
  const ran = Bun.spawnSync([...bound, binary, ...args], { cwd: place.home, env: place.env, stdin: "ignore" });
  expect(ran.exitCode).toBe(2);
  expect(ran.stderr.toString()).toBe(`koda: Cannot enter the project "${place.project}": permission denied (EACCES)\n`);
});
