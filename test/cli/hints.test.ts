import { expect, test } from "bun:test";
import { exec, koda, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

async function makeRepository(): Promise<Place> {
  const place = makePlace({ file: "" }, "/var/tmp");
  await Bun.spawn(["git", "init", "-q"], { cwd: place.project, env: place.env }).exited;
  return place;
}

const script = (command: string) => [call("Bash", { command }), say("Done.")];
const commit = "git add file && git -c user.name=a -c user.email=a@example.test commit -m x";
const hint = "sandbox: .git is read-only (--allow-git lets commands commit)";

test("people see which flag lets a command do what the sandbox refused", async () => {
  await using place = await makeRepository();
  await using server = await startModelServer(script(commit));
  const { stderr } = await koda(place, ["exec", ...using(server), "go"]);
  expect(stderr).toContain(`\n    ${hint}\n`);
});

test("programs read it in the event, and the model in its result", async () => {
  await using place = await makeRepository();
  await using server = await startModelServer(script(commit));
  const { events } = await exec(place, server, ["go"]);
  expect(events.filter(({ type }) => type === "tool.end")).toMatchObject([{ hint, ok: false }]);
  expect(server.requests[1]?.lines.at(-1)?.text).toContain(`\n${hint}\n`);
});

test("a refused read is told as a read", async () => {
  await using place = makePlace();
  await using server = await startModelServer(script("tr a b < /proc/1/environ"));
  const { stderr } = await koda(place, ["exec", ...using(server), "go"]);
  expect(stderr).toContain("\n    sandbox: reading /proc/1/environ is not allowed: ");
});

test("a command that fails by itself gets no hint", async () => {
  await using place = makePlace();
  await using server = await startModelServer(script("ls missing"));
  const { events } = await exec(place, server, ["go"]);
  expect(events.find(({ type }) => type === "tool.end")).not.toHaveProperty("hint");
});

test("a refused host is told once, where it is told with all others", async () => {
  await using place = makePlace();
  await using server = await startModelServer(script("curl -sS http://example.com; exit 1"));
  const { events, stderr } = await exec(place, server, ["go"]);
  expect(
    events.find(({ type }) => type === "tool.end"),
    stderr,
  ).not.toHaveProperty("hint");
  expect(events.some((event) => event.type === "egress" && event.host === "example.com")).toBe(true);
});
