import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binary, exec, follow, start, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { isRoot } from "../support/nobody.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

type Row = [
  name: string,
  /** Puts what is bad into its place; returns further flags. */
  spoil: (place: Place) => string[] | void,
  /** The expected message. */
  says: string[],
  exit?: number,
  prompt?: string[],
];

const database = (place: Place) => join(place.home, ".local/share/koda/koda.db");

function put(path: string, content: string | Uint8Array): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, content);
}

/** A file of the project that a flag names. */
const given = (flag: string, name: string, content: string | Uint8Array) => (place: Place) => {
  place.write(name, content);
  return [flag, name];
};
const schema = (content: string) => given("--output-schema", "s.json", content);
const directory = (path: string) => void mkdirSync(path, { recursive: true });

const rows: Row[] = [
  ["a config that is not JSON", (p) => void configure(p, '{ "model": '), ["config.json", "1:"]],
  ["a misspelt key", (p) => void configure(p, '{ "modle": "x" }'), ['"modle"', 'mean "model"']],
  ["a directory for a config", (p) => directory(join(p.home, ".config/koda/config.json")), ["directory"]],
  ["a project config that is not JSON", (p) => void p.write(".koda/config.json", "{,}"), [".koda/config.json"]],
  ["a bad --config value", () => ["--config", "limits.max_turn=3"], ["max_turns"]],
  ["a database that is none", (p) => put(database(p), "this is no database, just a text ".repeat(40)), ["koda.db"], 10],
  ["a data directory that is a file", (p) => put(join(p.home, ".local/share/koda"), "x"), ["koda"], 10],
  ["a schema file that is not there", () => ["--output-schema", "no.json"], ["no.json"]],
  ["a schema file that is not JSON", schema("{"), ["s.json", "JSON"]],
  ["a schema that is no object", schema("[]"), ["object"]],
  ["a schema with a bad pattern", schema('{"pattern":"("}'), ['"/pattern" is "(", expected a regular expression']],
  [
    "a schema that is nested too deep",
    schema(`${'{"not":'.repeat(20_000)}{}${"}".repeat(20_000)}`),
    ["s.json", "it is nested more than 1,000 levels deep"],
  ],
  ["a cassette that is not there", () => ["--replay", "no.tape"], ["no.tape"]],
  ["a cassette that is none", given("--replay", "bad.tape", "hello\n"), ["bad.tape"]],
  ["a cassette that cannot be written", () => ["--record", "no/such/dir/x.tape"], ["x.tape"], 11],
  ["an image that is none", given("-i", "x.png", "text"), ["x.png"]],
  [
    "an image that was cut short",
    given("-i", "x.png", Buffer.from("\x89PNG\r\n\x1a\nhalf", "latin1")),
    ["x.png", "it is truncated"],
  ],
  ["a prompt file that is a directory", (p) => directory(join(p.project, "d")), ["directory"], 2, ["-f", "d"]],
  ["a prompt file that is not UTF-8", given("-f", "p.md", new Uint8Array([0xc3, 0x28, 0xff])), ["UTF-8"], 2, []],
  ["a prompt file of 11 MB", given("-f", "p.md", "x".repeat(11 * 1024 * 1024)), ["10 MiB"], 2, []],
  ["a project directory that is not there", () => ["-C", "nowhere"], ["nowhere"]],
  ["a project that is a file", given("-C", "f", ""), ['"f"']],
  [
    "a project in a hidden directory",
    ({ home }) => (directory(join(home, ".ssh/x")), ["-C", join(home, ".ssh/x")]),
    [".ssh/x", "--allow-read"],
  ],
  ["opening koda's own state", (p) => ["--allow-read", join(database(p), "..")], ["koda keeps its own state there"]],
  ["hiding what every program needs", () => ["--deny-read", "/usr,/bin"], ["/bin/true", "--deny-read"], 7],
  ["a KODA_HOME that is relative", (p) => void (p.env.KODA_HOME = "here"), ["KODA_HOME"]],
];

describe("koda exec refuses", () => {
  for (const [name, spoil, says, exit = 2, prompt = ["hi"]] of rows)
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
  const { end, events } = await exec(place, server, ["try"]);
  expect(end.status).toBe("done");
  const results = events.filter((event) => event.type === "tool.end");
  expect(results.map(({ ok }) => ok)).toEqual(Array(8).fill(false));
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
