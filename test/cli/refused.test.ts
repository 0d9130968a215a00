import { describe, expect, test } from "bun:test";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../lib/session/store.ts";
import { binary, checkLines, exec, koda, using } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

type Row = { name: string; args: string[]; stdin?: string | Uint8Array };

const latin1 = new Uint8Array([0x67, 0xfc, 0x6e]);

const rows: Row[] = [
  { name: "a prompt file that is not there", args: ["-f", "nosuchfile"] },
  { name: "an image that is not there", args: ["-i", "nosuch.png", "look"] },
  { name: "a blank prompt", args: [" "] },
  { name: "an empty prompt file", args: ["-f", "empty.md"] },
  { name: "input that is not UTF-8", args: ["do it"], stdin: latin1 },
  { name: "an empty standard input for -", args: ["-"], stdin: "" },
  { name: "an empty standard input with --stdin require", args: ["--stdin", "require", "do it"], stdin: "" },
  { name: "no prompt at all", args: [] },
];

/** Flags whose values are not known to be wrong before the configuration is read. */
const flagRows: Row[] = [
  { name: "a tool that does not exist", args: ["--allow-tool", "Nope", "do it"] },
  { name: "a bad host pattern", args: ["--allow-net", "*", "do it"] },
  { name: "a writable root that is not there", args: ["--allow-write", "/nosuch", "do it"] },
];

const database = (place: Place) => join(place.home, ".local/share/koda/koda.db");

/** Everything that the database says of a session, whether it is listed or not. */
async function sessionsIn(place: Place): Promise<unknown[]> {
  if (!existsSync(database(place))) return [];
  await using store = openStore(database(place));
  return [store.list(), store.named("mine")].flat();
}

describe("a command line that is refused changes nothing", () => {
  test.each(rows)("$name: a new session is not created", async ({ args, stdin }) => {
    await using place = makePlace({ "empty.md": "\n" });
    await using server = await startModelServer(() => say("ok"));
    const input = stdin === undefined ? {} : { stdin: new Blob([stdin]) };
    const ran = await koda(place, ["exec", "--json", ...using(server), "--session", "mine", ...args], input);
    expect(checkLines(ran).end).toMatchObject({ exit: 2, session: null, error: { code: "usage" } });
    expect((await sessionsIn(place)).filter((row) => row !== undefined)).toEqual([]);
    expect(server.requests).toHaveLength(0);
  });

  test.each(rows)("$name: a session that exists stays as it was, and so does its fork", async ({ args, stdin }) => {
    await using place = makePlace({ "empty.md": "\n" });
    await using server = await startModelServer(() => say("ok"));
    await exec(place, server, ["--session", "mine", "one"]);
    const before = await sessionsIn(place);
    const input = stdin === undefined ? {} : { stdin: new Blob([stdin]) };
    for (const choice of [["--resume", "mine"], ["--last"], ["--fork", "mine"]]) {
      const flags = ["-m", "another", "--base-url", server.url, "--mode", "plan", ...choice];
      const ran = await koda(place, ["exec", "--json", ...flags, ...args], input);
      expect(checkLines(ran).end).toMatchObject({ exit: 2, error: { code: "usage" } });
    }
    expect(await sessionsIn(place)).toEqual(before);
    expect(server.requests).toHaveLength(1);
  });

  test.each([...rows, ...flagRows])("$name: is told before a missing model", async ({ args, stdin }) => {
    await using place = makePlace({ "empty.md": "\n" });
    const input = stdin === undefined ? {} : { stdin: new Blob([stdin]) };
    const ran = await koda(place, ["exec", "--json", ...args], input);
    expect(checkLines(ran).end).toMatchObject({ exit: 2, session: null, error: { code: "usage" } });
  });

  test("Ctrl-C while it waits for standard input", async () => {
    await using place = makePlace();
    await using server = await startModelServer(() => say("ok"));
    const args = ["exec", "--json", ...using(server), "--session", "mine", "--stdin", "append", "do it"];
    const child = Bun.spawn([binary, ...args], {
      cwd: place.project,
      env: place.env,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    const said = await child.stderr.getReader().read();
    expect(new TextDecoder().decode(said.value)).toContain("waiting for the end of stdin");
    child.kill("SIGINT");
    const [stdout, exit] = await Promise.all([child.stdout.text(), child.exited]);
    expect(checkLines({ stdout, stderr: "", exit, signal: null }).end).toMatchObject({ exit: 130, session: null });
    expect((await sessionsIn(place)).filter((row) => row !== undefined)).toEqual([]);
  });
});

test.each([["-f", "nosuch.md"], [" "], []])(
  "a wrong command line is told before a missing key: %j",
  async (...args) => {
    await using place = makePlace();
    const ran = await koda(place, ["exec", "--json", "-m", "openai/gpt-5", ...args]);
    expect(checkLines(ran).end).toMatchObject({ exit: 2, error: { code: "usage" } });
  },
);

test("a missing key is told at once, however long a pipeline takes", async () => {
  await using place = makePlace();
  const script = `mkfifo gate; (read -r _ < gate; echo late) | { "${binary}" exec --json -m openai/gpt-5 "why?"; : > gate; }`;
  const { stdout } = await runIn(place, ["sh", "-c", script]);
  expect(JSON.parse(stdout)).toMatchObject({ type: "end", exit: 4 });
});

test("each run of a loop over a file is given what its own command line says", async () => {
  await using place = makePlace({ list: "alpha\nbeta\ngamma\n" });
  await using server = await startModelServer(() => say("ok"));
  const flags = using(server).join(" ");
  const script = (more: string) => `while read -r line; do "${binary}" exec ${flags} ${more} "do $line"; done < list`;
  const run = async (more: string) => (await runIn(place, ["sh", "-c", script(more)])).stderr;
  const prompts = () => server.requests.map(({ lines }) => lines.at(-1)?.text);

  const said = await run("");
  expect(prompts()).toEqual(["do alpha\n\n<stdin>\nbeta\ngamma\n</stdin>"]);
  expect(said).toContain("added 2 lines of stdin to the prompt; --stdin ignore leaves them unread");

  await run("--stdin ignore");
  expect(prompts().slice(1)).toEqual(["do alpha", "do beta", "do gamma"]);
});

test("a home that cannot be written to is told with the flag that does without", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("ok"));
  const blocked = join(place.home, "file");
  await Bun.write(blocked, "");
  const { end, stderr } = await exec(place, server, ["hi"], { env: { KODA_HOME: join(blocked, "koda") } });
  expect(end.exit).toBe(10);
  expect(stderr).toContain("--ephemeral");
});

test.each([
  [["-f", "in.txt", "-o", "in.txt"]],
  [["--output-schema", "s.json", "-o", "./s.json", "hi"]],
  [["-f", "in.txt", "--record", "link.txt"]],
])("a file that is read is not written as well: %j", async (args) => {
  await using place = makePlace({ "in.txt": "do it", "s.json": "{}" });
  await using server = await startModelServer(() => say("ok"));
  symlinkSync("in.txt", join(place.project, "link.txt"));
  const { end } = await exec(place, server, args);
  expect(end).toMatchObject({ exit: 2, error: { message: expect.stringContaining("would overwrite the file that") } });
  expect(await Bun.file(join(place.project, "in.txt")).text()).toBe("do it");
  expect(await Bun.file(join(place.project, "s.json")).text()).toBe("{}");
});
