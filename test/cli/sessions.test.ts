import { expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { exec, follow, koda, start, using } from "../support/koda.ts";
import { call, say, silence } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

const texts = (lines: readonly { text: string }[] | undefined) => (lines ?? []).map(({ text }) => text).join("\n");

async function listed(place: Place): Promise<{ id: string; title: string; turns: number; parent?: string }[]> {
  return JSON.parse((await koda(place, ["session", "list", "--json"])).stdout);
}

test("a session is continued with all that was said", async () => {
  await using place = makePlace({ "a.txt": "alpha\n" });
  await using server = await startModelServer([
    call("Read", { path: "a.txt" }),
    say("It says alpha."),
    say("You asked for it."),
  ]);
  const first = await exec(place, server, ["What is in a.txt?"]);
  const second = await exec(place, server, ["--resume", first.end.session ?? "", "Why did you read it?"]);
  expect(second.end).toMatchObject({ status: "done", session: first.end.session });
  expect(second.events[0]).toMatchObject({ type: "session.start", resumed: true });
  const seen = texts(server.requests[2]?.lines);
  for (const text of ["What is in a.txt?", "alpha", "It says alpha.", "Why did you read it?"])
    expect(seen).toContain(text);
  expect(server.requests[2]?.raw).toStartWith(server.requests[1]?.raw.replace(/[\]}]+$/, "") ?? "?");
});

test("--last is the latest session of this directory", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("ok"));
  await exec(place, server, ["--session", "here", "one"]);
  const elsewhere = join(place.home, "other");
  await Bun.write(join(elsewhere, "x"), "");
  await exec(place, server, ["--session", "there", "two"], { cwd: elsewhere });
  expect((await exec(place, server, ["--last", "three"])).end.session).toBe("here");
});

test("a fork goes its own way", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("ok"));
  await exec(place, server, ["--session", "trunk", "root word"]);
  const fork = await exec(place, server, ["--fork", "trunk", "sideways"]);
  expect(fork.end.session).not.toBe("trunk");
  expect(texts(server.requests[1]?.lines)).toContain("root word");
  await exec(place, server, ["--resume", "trunk", "straight on"]);
  expect(texts(server.requests[2]?.lines)).not.toContain("sideways");
  expect((await listed(place)).find(({ id }) => id === fork.end.session)).toMatchObject({ parent: "trunk" });
});

test("--ephemeral writes nothing", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("ok")]);
  const { end } = await exec(place, server, ["--ephemeral", "hi"]);
  expect(end).toMatchObject({ status: "done", resume: null });
  expect(readdirSync(place.home)).toEqual([]);
});

test("a session that another process holds is exit 10, and --wait says what it waits for", async () => {
  await using place = makePlace();
  await using server = await startModelServer(({ lines }) =>
    lines.at(-1)?.text.includes("hold") ? [say("Holding."), silence()] : say("ok"),
  );
  const child = start(place, ["exec", "--json", ...using(server), "--session", "mine", "hold it"]);
  const holder = follow(child);
  await holder.until(({ type }) => type === "text.delta");

  const second = await exec(place, server, ["--session", "mine", "me too"]);
  expect(second.end).toMatchObject({ exit: 10, session: null, error: { code: "session_held" } });
  expect(second.stderr).toContain(String(child.pid));

  const patient = start(place, ["exec", ...using(server), "--session", "mine", "--wait", "30s", "me too"]);
  const held = `process ${child.pid} on host ".*" has held it for \\d+ s`;
  const note = new RegExp(`^koda: waiting up to 30s for session "mine": ${held}\\n`);
  const decoder = new TextDecoder();
  let log = "";
  for await (const bytes of patient.stderr) {
    log += decoder.decode(bytes, { stream: true });
    if (note.test(log)) child.kill("SIGTERM");
  }
  expect((await holder.finished()).end.exit).toBe(143);
  expect([await patient.exited, await patient.stdout.text()]).toEqual([0, "ok\n"]);
  expect(log.match(/waiting up to/g)).toHaveLength(1);
});

test("a killed run's session is free at once, and its open calls are accounted for", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "sleep 60" }), say("Going on.")]);
  const child = start(place, ["exec", "--json", ...using(server), "--session", "cut", "work"]);
  await follow(child).until(({ type }) => type === "tool.start");
  child.kill("SIGKILL");
  await child.exited;
  const { end } = await exec(place, server, ["--session", "cut", "go on"]);
  expect(end).toMatchObject({ status: "done", text: "Going on." });
  expect(texts(server.requests[1]?.lines)).toContain("[interrupted: no result was recorded]");
  expect(server.problems).toEqual([]);
});

test("a resumed session stays in the mode it was recorded in unless a flag says otherwise", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("ok"));
  await exec(place, server, ["--session", "careful", "--mode", "plan", "one"]);
  const modeOf = ({ events }: Awaited<ReturnType<typeof exec>>) =>
    events[0]?.type === "session.start" ? events[0].mode : undefined;
  expect(modeOf(await exec(place, server, ["--session", "careful", "two"]))).toBe("plan");
  expect(modeOf(await exec(place, server, ["--session", "careful", "--mode", "auto", "three"]))).toBe("auto");
});

test("the database is for its owner alone and holds no key", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("ok")]);
  await exec(place, server, ["--api-key-env", "SECRET_KEY", "hi"], { env: { SECRET_KEY: "sk-very-secret-value" } });
  const directory = join(place.home, ".local/share/koda");
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(directory)) {
    expect(statSync(join(directory, name)).mode & 0o077).toBe(0);
    expect(await Bun.file(join(directory, name)).text()).not.toContain("sk-very-secret-value");
  }
});
