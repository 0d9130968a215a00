import { expect, test } from "bun:test";
import { linkSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { wires } from "../../lib/config/config.ts";
import { checkLines, exec, koda, type Line } from "../support/koda.ts";
import { call, problem, say, status } from "../support/model-reply.ts";
import { startModelServer, type Script } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { repairProject, repairPrompt, repairTape } from "../support/record-repair.ts";

/** No server, no key and no network: whatever a replay needs is in the file. */
async function replay(place: Place, args: readonly string[]) {
  const ran = await koda(place, ["exec", "--json", ...args]);
  return { ...ran, ...checkLines(ran) };
}

/** The events without the parts that differ between any two runs. */
function story(events: readonly Line[]): unknown[] {
  return events.flatMap((event) => {
    if (event.type === "text.done" || event.type === "thinking.delta") return [[event.type, event.text]];
    if (event.type === "tool.start") return [[event.type, event.tool, event.input]];
    if (event.type === "tool.end") return [[event.type, event.tool, event.ok, event.exit_code ?? null]];
    return event.type === "end" ? [[event.type, event.status, event.text, event.tools]] : [];
  });
}

test("the recorded repair is done again in another place, offline", async () => {
  await using place = makePlace(repairProject);
  const { end, stderr } = await replay(place, ["--replay", resolve(repairTape), repairPrompt]);
  expect(end, stderr).toMatchObject({ status: "done", files_changed: 1, tools: { ok: 4, failed: 1, denied: 0 } });
  expect(readFileSync(join(place.project, "add.sh"), "utf8")).toBe("echo $(($1 + $2))\n");
});

test("a replayed run tells the same story as the recorded one", async () => {
  const script: Script = [
    problem(503, "Busy", { "retry-after-ms": "1" }),
    // One call a reply: calls that run together may end in any order.
    [say("Looking."), call("List", {})],
    call("Read", { path: "a.txt" }),
    call("Bash", { command: "cat a.txt; exit 3" }),
    say("It says hello."),
  ];
  for (const wire of wires) {
    await using place = makePlace({ "a.txt": "hello\n" });
    await using server = await startModelServer(script);
    const recorded = await exec(place, server, ["--wire", wire, "--record", "../run.tape", "Read a.txt"]);
    expect(recorded.end.status).toBe("done");

    await using elsewhere = makePlace({ "a.txt": "hello\n" });
    const replayed = await replay(elsewhere, ["--replay", join(place.project, "../run.tape"), "Read a.txt"]);
    expect(story(replayed.events)).toEqual(story(recorded.events));
    expect(replayed.events.filter(({ type }) => type === "retry")).toHaveLength(1);
  }
});

test("what koda marks its commands with is no difference", async () => {
  await using place = makePlace();
  const command = "env | sort; ulimit -a";
  await using server = await startModelServer([call("Bash", { command }), say("That is the environment.")]);
  const recorded = await exec(place, server, ["--record", "../run.tape", "Show the environment"]);
  expect(recorded.end.status).toBe("done");
  expect(server.requests[1]?.raw).toContain("KODA_CALL=");
  const { end, stderr } = await replay(place, ["--replay", "../run.tape", "Show the environment"]);
  expect(end.status, stderr).toBe("done");
});

test("a request that differs ends the replay and names the first difference", async () => {
  await using place = makePlace(repairProject);
  place.write("add.sh", "echo $(($1 * $2))\n");
  const { end, stderr } = await replay(place, ["--replay", resolve(repairTape), repairPrompt]);
  expect(end).toMatchObject({ status: "failed", exit: 12, error: { code: "replay" } });
  expect(stderr).toContain("Request 2 differs");
  expect(stderr).toContain("$1 - $2");
  expect(stderr).toContain("$1 * $2");
});

test("--replay-loose says so and goes on", async () => {
  await using place = makePlace(repairProject);
  const { end, events } = await replay(place, ["--replay", resolve(repairTape), "--replay-loose", "Another prompt."]);
  expect(end.status).toBe("done");
  const notices = events.filter((event) => event.type === "notice" && event.code === "replay");
  expect(notices.length).toBeGreaterThan(0);
});

test("a tape is played with its own model, whatever the environment names for every run", async () => {
  await using place = makePlace(repairProject);
  const args = ["exec", "--json", "--replay", resolve(repairTape), repairPrompt];
  const ran = await koda(place, args, { env: { KODA_MODEL: "openai/gpt-5.5" } });
  expect(checkLines(ran).end.status).toBe("done");
});

test("the demo works in an empty home, leaves its session, and does not touch an older demo", async () => {
  await using place = makePlace();
  const demo = ["exec", "--json", "-m", "demo"];
  const first = await koda(place, demo);
  const { end } = checkLines(first);
  expect(end).toMatchObject({ status: "done", files_changed: 2, tools: { ok: 5, failed: 1, denied: 0 } });
  expect(end.text.toLowerCase()).toContain("scripted");
  expect(readdirSync(place.project)).toEqual(["koda-demo"]);
  expect(Bun.spawnSync(["sh", "koda-demo/test.sh"], { cwd: place.project }).exitCode).toBe(0);

  const second = await koda(place, demo);
  expect(checkLines(second).end).toMatchObject({ exit: 2 });
  expect(second.stderr).toContain("koda-demo");
  expect((await koda(place, ["session", "list"])).stdout.trimEnd().split("\n")).toHaveLength(2);
});

test("a recorded demo can be replayed", async () => {
  await using place = makePlace();
  const record = ["exec", "--json", "-m", "demo", "--record", "../demo.tape"];
  expect(checkLines(await koda(place, record)).end.status).toBe("done");
  await using elsewhere = makePlace();
  const { end } = await replay(elsewhere, [
    "--replay",
    join(place.project, "../demo.tape"),
    repairPrompt,
    "--replay-loose",
  ]);
  expect(end).toMatchObject({ status: "done", files_changed: 2 });
});

test("an old tape is replaced by the first reply, and a run without one leaves it", async () => {
  await using place = makePlace({ "run.tape": "An old tape.\n" });
  await using server = await startModelServer([status(401), say("Done.")]);
  const tape = join(place.project, "run.tape");
  const args = ["--record", "run.tape", "hi"];
  expect((await exec(place, server, args)).end.exit).not.toBe(0);
  expect(readFileSync(tape, "utf8")).toBe("An old tape.\n");
  expect((await exec(place, server, args)).end.exit).toBe(0);
  expect(readFileSync(tape, "utf8").split("\n")[0]).toStartWith('{"koda_cassette":1');
  expect(readdirSync(place.project)).toEqual(["run.tape"]);
});

test("what was a hard link to a file elsewhere is replaced too, and not written through", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  const profile = join(place.home, ".profile");
  writeFileSync(profile, "The user's own.\n");
  linkSync(profile, join(place.project, "run.tape"));
  expect((await exec(place, server, ["--record", "run.tape", "hi"])).end.exit).toBe(0);
  expect(readFileSync(profile, "utf8")).toBe("The user's own.\n");
});
