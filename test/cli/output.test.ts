import { describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { binary, checkLines, exec, koda, start, using } from "../support/koda.ts";
import { call, type Entry, problem, reply, say, status, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { asNobody, letEveryoneIn } from "../support/nobody.ts";
import { makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

test("text mode prints the final answer and nothing else", async () => {
  await using place = makePlace({ "a.txt": "hello\n" });
  await using server = await startModelServer([
    [say("Let me look."), call("Read", { path: "a.txt" })],
    say("It says hello."),
  ]);
  const { stdout, stderr, exit } = await koda(place, ["exec", ...using(server), "What does it say?"]);
  expect({ stdout, exit }).toEqual({ stdout: "It says hello.\n", exit: 0 });
  expect(stderr).toContain("Let me look.");
  expect(stderr).toContain("Read");
});

test("--output json prints the end event and nothing else", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("List", {}), say("Done.")]);
  const { stdout } = await koda(place, ["exec", "--output", "json", ...using(server), "hi"]);
  expect(JSON.parse(stdout)).toMatchObject({
    v: 1,
    type: "end",
    status: "done",
    exit: 0,
    text: "Done.",
    tools: { ok: 1, failed: 0, denied: 0 },
  });
  expect(stdout.trimEnd()).not.toContain("\n");
});

test("events come in the order of what happened", async () => {
  await using place = makePlace({ "a.txt": "hello\n" });
  await using server = await startModelServer([
    reply(say("Looking."), call("Read", { path: "a.txt" }), {
      usage: { input: 10, cached: 4, output: 5, reasoning: 1 },
    }),
    say("Done."),
  ]);
  const { events, end } = await exec(place, server, ["hi"]);
  const types = events.map(({ type }) => type).filter((type, n, all) => type !== "text.delta" || all[n - 1] !== type);
  const happened = "turn.start text.delta text.done usage tool.start tool.end text.delta text.done usage turn.end end";
  expect(types.filter((type) => type !== "notice").join(" ")).toBe(`session.start ${happened}`);
  expect(types.slice(1, types.indexOf("turn.start")).every((type) => type === "notice")).toBe(true);
  expect(events.find(({ type }) => type === "usage")).toMatchObject({
    request: { input: 10, cached: 4, output: 5, reasoning: 1 },
    context: { used: 15 },
  });
  expect(end.resume).toBe(`koda exec --resume ${end.session} --base-url ${server.url}`);
});

test("in one log for both streams everything stands in the order of what happened", async () => {
  await using place = makePlace();
  const script = (text: string) => [say("Looking."), call("Write", { path: `${text}.txt`, content: text })];
  const rounds = ["a", "b", "c", "d"].map(script);
  await using server = await startModelServer([...rounds, say("The answer.")]);
  const argv = ["sh", "-c", '"$0" exec "$@" >../log 2>&1', binary, ...using(server), "hi"];
  expect(await runIn(place, argv)).toMatchObject({ exit: 0 });
  const lines = fs.readFileSync(join(place.project, "../log"), "utf8").trimEnd().split("\n");
  const answer = lines.indexOf("The answer.");
  expect(lines.slice(0, answer).filter((line) => line.startsWith("● Write"))).toHaveLength(4);
  expect(lines.slice(answer + 1)).toEqual([
    expect.stringMatching(/^✓ done .* 4 files changed$/),
    expect.stringContaining("to continue"),
  ]);
});

test("in one log, text that is streamed and lines for people do not share a line", async () => {
  await using place = makePlace({ "a.txt": "hello\n" });
  await using server = await startModelServer([[say("Looking."), call("Read", { path: "a.txt" })], say("Done.")]);
  const argv = ["sh", "-c", '"$0" exec --stream "$@" 2>&1 | cat', binary, ...using(server), "hi"];
  const lines = (await runIn(place, argv)).stdout.split("\n");
  expect(lines).toContain("Looking.");
  expect(lines).toContain("Done.");
  expect(lines.indexOf("Looking.")).toBeLessThan(lines.findIndex((line) => line.startsWith("● Read")));
});

test("three megabytes reach a slow reader whole, and the run waits for it", async () => {
  await using place = makePlace();
  const line = "x".repeat(999);
  await using server = await startModelServer([say(...Array.from({ length: 3000 }, () => `${line}\n`))]);
  const piped = `"$0" exec ${using(server).join(" ")} hi | { sleep 1; cat; }`;
  expect((await runIn(place, ["sh", "-c", piped, binary])).stdout.length).toBe(3_000_000);
});

test("with --stream text leaves as it comes, without it only when the reply is complete", async () => {
  for (const stream of [true, false]) {
    await using place = makePlace();
    const gate = Promise.withResolvers<void>();
    await using server = await startModelServer([[say("First. "), wait(gate.promise), say("Second.")]]);
    const child = start(place, ["exec", ...(stream ? ["--stream"] : []), ...using(server), "hi"]);
    const reader = child.stdout.getReader();
    if (stream) {
      expect(new TextDecoder().decode((await reader.read()).value)).toBe("First. ");
      gate.resolve();
    } else {
      await server.nextRequest();
      gate.resolve();
    }
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read())
      rest += new TextDecoder().decode(part.value);
    expect(rest).toBe(stream ? "Second.\n" : "First. Second.\n");
    await child.exited;
  }
});

test("-o with a link to a pipe writes into the pipe and leaves the link where it is", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("The answer."), status(400)]);
  const door = join(place.project, "door");
  fs.symlinkSync("/proc/self/fd/2", door);
  const run = async () => {
    const argv = ["sh", "-c", '"$0" exec -q "$@" 2>&1 >/dev/null | cat', binary, ...using(server), "-o", "door", "hi"];
    return (await runIn(place, argv)).stdout;
  };
  expect(await run()).toContain("The answer.");
  expect(await run()).toContain("koda:");
  expect(fs.lstatSync(door).isSymbolicLink()).toBe(true);
});

test("-o /dev/stdout adds to the log that stdout is, and a failed run leaves the log alone", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("The answer."), status(400)]);
  const log = join(place.project, "log");
  const run = async () => {
    const argv = ["sh", "-c", '"$0" exec -q "$@" >>log', binary, ...using(server), "-o", "/dev/stdout", "hi"];
    return (await runIn(place, argv)).exit;
  };
  place.write("log", "What was there.\n");
  expect(await run()).toBe(0);
  expect(await run()).toBe(1);
  expect(fs.readFileSync(log, "utf8")).toBe("What was there.\nThe answer.The answer.\n");
});

test("-o writes where a user's own link leads, though nothing is there yet, and keeps who may read it", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("One."), say("Two.")]);
  const link = join(place.home, "link");
  fs.symlinkSync("../project/kept/answer.md", link);
  const answer = place.write("kept/answer.md", "Old.");
  fs.rmSync(answer);
  await exec(place, server, ["-o", link, "hi"]);
  expect(fs.readFileSync(answer, "utf8")).toBe("One.");
  fs.chmodSync(answer, 0o600);
  await exec(place, server, ["-o", link, "hi"]);
  expect(fs.readFileSync(answer, "utf8")).toBe("Two.");
  expect(fs.statSync(answer).mode & 0o777).toBe(0o600);
  expect(fs.lstatSync(link).isSymbolicLink()).toBe(true);
});

describe("a link that an earlier command could have left is not followed", () => {
  const plant = "ln -s ../home/.profile answer.md; ln -s ../home out; ln -s .koda/config.json inside";
  const rows: readonly [name: string, args: readonly string[], link: string][] = [
    ["by -o", ["-o", "answer.md"], "answer.md"],
    ["by -o, as a directory on the way", ["-o", "out/.profile"], "out"],
    ["by -o, into the project itself", ["-o", "inside"], "inside"],
    ["by --record", ["--record", "answer.md"], "answer.md"],
    ["by --record, as a directory on the way", ["--record", "out/.profile"], "out"],
    [
      "by -o, in a directory that --allow-write names",
      ["--allow-write", "../home/w", "-o", "../home/w/answer.md"],
      "answer.md",
    ],
  ];
  for (const [name, args, link] of rows)
    test(name, async () => {
      await using place = makePlace();
      const profile = join(place.home, ".profile");
      fs.writeFileSync(profile, "The user's own.\n");
      fs.mkdirSync(join(place.home, "w"));
      fs.symlinkSync("../.profile", join(place.home, "w/answer.md"));
      await using server = await startModelServer([call("Bash", { command: plant }), say("Done.")]);
      expect((await exec(place, server, ["hi"])).end.exit).toBe(0);

      const { end } = await exec(place, server, [...args, "hi"]);
      expect(end).toMatchObject({ exit: 11, error: { code: "output" } });
      expect(end.error?.message).toMatch(new RegExp(`/${link}" is a symbolic link that a command could have made`));
      expect(server.requests).toHaveLength(2);
      expect(fs.readFileSync(profile, "utf8")).toBe("The user's own.\n");
    });

  test("and the control: the user's own link elsewhere is", async () => {
    await using place = makePlace();
    await using server = await startModelServer([say("One."), say("Two.")]);
    const [answer, tape] = [join(place.home, "answer.md"), join(place.home, "run.tape")];
    fs.mkdirSync(join(place.home, "w"));
    fs.symlinkSync("w/answer.md", answer);
    fs.symlinkSync("w/run.tape", tape);
    expect((await exec(place, server, ["-o", answer, "--record", tape, "hi"])).end.exit).toBe(0);
    expect(fs.readFileSync(join(place.home, "w/answer.md"), "utf8")).toBe("One.");
    expect(fs.readFileSync(join(place.home, "w/run.tape"), "utf8")).toContain("One.");
  });
});

test("-o with a pipe hands over what the pipe's reader takes, all of it", async () => {
  await using place = makePlace();
  const text = "x".repeat(300_000);
  await using server = await startModelServer([say(text)]);
  Bun.spawnSync(["mkfifo", "door"], { cwd: place.project });
  const reader = Bun.spawn(["sh", "-c", "cat <door"], { cwd: place.project, stdin: "ignore", stdout: "pipe" });
  const { end } = await exec(place, server, ["-o", "door", "hi"]);
  expect(end.exit).toBe(0);
  expect(await reader.stdout.text()).toBe(text);
});

test("-o with a pipe that nobody reads waits no longer than the run may take", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("The answer.")]);
  Bun.spawnSync(["mkfifo", "door"], { cwd: place.project });
  const { end } = await exec(place, server, ["--timeout", "1s", "-o", "door", "hi"]);
  expect(end).toMatchObject({ status: "limit", exit: 124, text: "The answer." });
});

describe("-o writes where the name led before the first command, and nowhere else", () => {
  const rows: readonly [name: string, file: string, command: string, prepare: string][] = [
    ["the file becomes a link", "answer.md", "ln -s ../home/.profile answer.md", "true"],
    ["its directory becomes a link", "out/.profile", "rmdir out && ln -s ../home out", "mkdir out"],
    [
      "where a link led becomes a link",
      "../home/door",
      "rmdir out && ln -s ../home out",
      "mkdir out; ln -s ../project/out/.profile ../home/door",
    ],
    ["a pipe becomes a link", "door", "rm door && ln -s ../home/.profile door", "mkfifo door"],
  ];
  for (const [name, file, command, prepare] of rows)
    test(name, async () => {
      await using place = makePlace();
      fs.writeFileSync(join(place.home, ".profile"), "The user's own.\n");
      Bun.spawnSync(["sh", "-c", prepare], { cwd: place.project });
      await using server = await startModelServer([call("Bash", { command }), say("Evil.")]);
      await exec(place, server, ["-o", file, "hi"]);
      expect(server.requests[1]?.lines.at(-1)?.text).toContain("Exit code: 0");
      expect(fs.readFileSync(join(place.home, ".profile"), "utf8")).toBe("The user's own.\n");
    });

  test("a failed run removes nothing elsewhere", async () => {
    await using place = makePlace();
    fs.writeFileSync(join(place.home, ".profile"), "The user's own.\n");
    fs.mkdirSync(join(place.project, "out"));
    const command = "rmdir out && ln -s ../home out";
    await using server = await startModelServer([call("Bash", { command }), status(400)]);
    const { end } = await exec(place, server, ["-o", "out/.profile", "hi"]);
    expect(end.exit).toBe(1);
    expect(fs.readFileSync(join(place.home, ".profile"), "utf8")).toBe("The user's own.\n");
  });

  test("a pipe in the place of the file holds nothing up", async () => {
    await using place = makePlace();
    await using server = await startModelServer([call("Bash", { command: "mkfifo answer.md" }), say("The answer.")]);
    const { end } = await exec(place, server, ["-o", "answer.md", "--timeout", "60s", "hi"]);
    expect(end.exit).toBe(0);
    expect(fs.readFileSync(join(place.project, "answer.md"), "utf8")).toBe("The answer.");
  });
});

describe("-o that cannot be written is said before the model is asked", () => {
  const rows: readonly [file: string, reason: string][] = [
    ["missing/answer.md", 'no such directory "'],
    ["missing/", "it is a directory"],
    [".", "it is a directory"],
    ["/", "it is a directory"],
    ["file.txt/answer.md", "is not a directory"],
    ["link", "too many levels of symbolic links"],
    ["socket", "it is a socket"],
    ["/dev/fd/99", "file descriptor 99 is not open"],
  ];
  for (const [file, reason] of rows)
    test(file, async () => {
      await using place = makePlace({ "file.txt": "" });
      fs.symlinkSync("link", join(place.project, "link"));
      using _socket = Bun.listen({ unix: join(place.project, "socket"), socket: { data() {} } });
      await using server = await startModelServer([say("The answer.")]);
      const before = fs.readdirSync(place.project);
      const { end, events } = await exec(place, server, ["-o", file, "hi"]);
      expect(events).toHaveLength(1);
      expect(end).toMatchObject({ exit: 11, session: null, error: { code: "output" } });
      expect(end.error?.message).toStartWith(`Cannot write the answer to "${file}" (-o): `);
      expect(end.error?.message).toContain(reason);
      expect(server.requests).toHaveLength(0);
      expect(fs.readdirSync(place.project)).toEqual(before);
    });

  test("in a directory that the user may not write in", async () => {
    await using place = makePlace();
    letEveryoneIn(place);
    await using server = await startModelServer([say("The answer.")]);
    fs.chmodSync(place.project, 0o555);
    const argv = [...asNobody, binary, "exec", "--ephemeral", ...using(server), "-o", "answer.md", "hi"];
    const { exit, stderr } = await runIn(place, argv);
    expect(stderr).toBe('koda: Cannot write the answer to "answer.md" (-o): permission denied (EACCES)\n');
    expect([exit, server.requests.length]).toEqual([11, 0]);
  });
});

test("-o - is stdout, which has the answer anyhow, and with events there it is a usage error", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("The answer.")]);
  const text = await koda(place, ["exec", ...using(server), "-o", "-", "hi"]);
  expect([text.exit, text.stdout]).toEqual([0, "The answer.\n"]);
  const { end } = await exec(place, server, ["-o", "-", "hi"]);
  expect(end).toMatchObject({ exit: 2, error: { code: "usage" } });
  expect(end.error?.message).toContain("-o - cannot be used with --output jsonl");
  expect(server.requests).toHaveLength(1);
  expect(fs.readdirSync(place.project)).toEqual([]);
});

/** Runs koda where no file can grow beyond 64 KiB: what is longer is taken in part, and then refused. */
function execCramped(place: Place, args: readonly string[]) {
  return runIn(place, ["sh", "-c", 'trap "" XFSZ; ulimit -f 128; exec "$0" exec --json "$@"', binary, ...args]);
}

test("a tape that does not fit is exit 11, not a shorter tape", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("x".repeat(100_000))]);
  const ran = await execCramped(place, [...using(server), "--ephemeral", "--record", "run.tape", "hi"]);
  expect(checkLines(ran).end).toMatchObject({ status: "failed", exit: 11, error: { code: "output" } });
  expect(ran.stderr).toContain('Cannot write the cassette "');
});

test("an answer that does not fit is exit 11, and the old one is gone", async () => {
  await using place = makePlace({ "answer.md": "Old." });
  await using server = await startModelServer([say("x".repeat(100_000))]);
  const ran = await execCramped(place, [...using(server), "--ephemeral", "-o", "answer.md", "hi"]);
  expect(checkLines(ran).end).toMatchObject({ status: "failed", exit: 11, error: { code: "output" } });
  expect(fs.readdirSync(place.project)).toEqual([]);
});

test("--output-schema checks the answer, asks for repairs, and hands the value over", async () => {
  await using place = makePlace({
    "schema.json": JSON.stringify({ type: "object", required: ["n"], properties: { n: { type: "integer" } } }),
  });
  await using server = await startModelServer([say("It is four."), say('{"n":"4"}'), say('{"n":4}')]);
  const { end } = await exec(place, server, ["--output-schema", "schema.json", "How many?"]);
  expect(end).toMatchObject({ status: "done", text: '{"n":4}', output: { n: 4 } });
  expect(server.requests).toHaveLength(3);
  expect(server.requests[0]?.raw).toContain('\\"integer\\"');

  await using stubborn = await startModelServer(() => say("four"));
  const failed = await exec(place, stubborn, ["--output-schema", "schema.json", "How many?"]);
  expect(failed.end).toMatchObject({ exit: 6, error: { code: "schema" } });
  expect(stubborn.requests).toHaveLength(3);
});

test("an answer that does not match the schema is not on stdout, but people can read it", async () => {
  await using place = makePlace({ "schema.json": '{"type":"integer"}' });
  await using server = await startModelServer(() => say("four"));
  const flags = ["--output-schema", "schema.json", "How many?"];
  const failed = await koda(place, ["exec", ...using(server), ...flags]);
  expect([failed.exit, failed.stdout]).toEqual([6, ""]);
  expect(failed.stderr).toContain("four");
  const limited = await koda(place, ["exec", ...using(server), "--max-turns", "1", ...flags]);
  expect([limited.exit, limited.stdout]).toEqual([5, ""]);
});

const rejected: [name: string, replies: Entry[], flags: string[], exit: number][] = [
  ["by the user's check", [say("One."), say("Two.")], ["--verify", "false", "--verify-attempts", "2"], 8],
  ["by the user's check, before the limit", [say("Two.")], ["--verify", "false", "--max-turns", "1"], 5],
  ["since it is only a promise", [say("I'll fix it. Two. Now I'll write it."), problem(400, "No.")], [], 1],
  ["since Finish was not called", [say("Two."), say("Two."), say("Two.")], ["--finish", "required"], 3],
  ["since it was cut off too often", Array.from({ length: 4 }, () => reply(say("Two."), { finish: "length" })), [], 5],
];

for (const [name, replies, flags, exit] of rejected)
  test(`a reply that was rejected ${name} is not on stdout, but people can read it`, async () => {
    // Not below /tmp, which is another one for commands.
    await using place = makePlace({}, "/var/tmp");
    await using server = await startModelServer(replies);
    const ran = await koda(place, ["exec", ...using(server), ...flags, "Do it."]);
    expect([ran.exit, ran.stdout]).toEqual([exit, ""]);
    expect(ran.stderr).toContain("Two.");
  });

const accepted: [name: string, flags: string[], exit: number][] = [
  ["with an outcome of --fail-on", ["--fail-on", "no-change"], 3],
  ["at its limit of requests", ["--max-turns", "2"], 5],
  ["without a place for -o", ["--verify", "rm -r out", "-o", "out/answer.md"], 11],
];

for (const [name, flags, exit] of accepted)
  test(`stdout has the answer of a run that ends ${name}`, async () => {
    await using place = makePlace({ "out/old.md": "" }, "/var/tmp");
    await using server = await startModelServer([call("Read", { path: "out/old.md" }), say("Two.")]);
    const ran = await koda(place, ["exec", ...using(server), ...flags, "Do it."]);
    expect([ran.exit, ran.stdout]).toEqual([exit, "Two.\n"]);
  });

test("colours and spinners stay out of a pipe", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "echo hi" }), say("Done.")]);
  const { stdout, stderr } = await koda(place, ["exec", ...using(server), "hi"]);
  expect(stdout + stderr).not.toContain("\u001b");
  expect(stdout + stderr).not.toContain("\r");
});

test("--print-schema describes the lines, and needs nothing else", async () => {
  await using place = makePlace();
  const { stdout, exit } = await koda(place, ["exec", "--print-schema"]);
  expect(exit).toBe(0);
  const schema = JSON.parse(stdout) as { $schema: string };
  expect(schema.$schema).toContain("2020-12");
  for (const type of ["session.start", "tool.output", "egress", "end"]) expect(stdout).toContain(`"${type}"`);
});
