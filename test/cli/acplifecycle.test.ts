import { expect, test } from "bun:test";
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openAcp, startAcp } from "../support/acp.ts";
import { promptsOf } from "../support/chat.ts";
import { binary, using } from "../support/koda.ts";
import { call, hang, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { until } from "../support/until.ts";

test("a cancellation with nothing to cancel does not reach the prompt behind it", async () => {
  await using acp = await openAcp(() => say("ok"));
  const { sessionId } = await acp.begin();
  const cancelled = acp.agent.notify("session/cancel", { sessionId });
  expect(await acp.prompt(sessionId, "one")).toEqual({ stopReason: "end_turn" });
  await cancelled;
});

test("a prompt behind a cancellation runs when the cancelled one is over", async () => {
  await using acp = await openAcp(({ lines }) => (lines.at(-1)?.text === "two" ? say("done") : hang()));
  const { sessionId } = await acp.begin();
  // How far the first has come differs.
  for (let round = 0; round < 10; round++) {
    const first = acp.prompt(sessionId, "one");
    void acp.agent.notify("session/cancel", { sessionId });
    const second = acp.prompt(sessionId, "two");
    expect(await second).toEqual({ stopReason: "end_turn" });
    expect(await first).toEqual({ stopReason: "cancelled" });
  }
});

test("a cancellation ends all prompts before it", async () => {
  await using acp = await openAcp(() => hang());
  const { sessionId } = await acp.begin();
  // The client's requests and notifications may overtake each other: an answer is behind what was sent before.
  const sent = () => acp.agent.request("session/list", {});
  const first = acp.prompt(sessionId, "one");
  await acp.server.nextRequest();
  const steering = acp.prompt(sessionId, "two");
  await sent();
  void acp.agent.notify("session/cancel", { sessionId });
  const waiting = acp.prompt(sessionId, "three");
  await sent();
  void acp.agent.notify("session/cancel", { sessionId });
  for (const prompt of [first, steering, waiting]) expect(await prompt).toEqual({ stopReason: "cancelled" });
  expect(acp.text()).toBe("");
});

test("a client that answers a permission as cancelled ends the turn", async () => {
  await using acp = await openAcp([call("Bash", { command: "touch a" }), say("went on")], {
    args: ["--mode", "safe"],
    permission: async () => ({ outcome: { outcome: "cancelled" } }),
  });
  const { sessionId } = await acp.begin();
  expect(await acp.prompt(sessionId, "go")).toEqual({ stopReason: "cancelled" });
  expect(existsSync(join(acp.place.project, "a"))).toBe(false);
});

test("a session can be loaded right behind its close, and only once", async () => {
  await using acp = await openAcp([say("first"), say("second")]);
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  const load = () => acp.agent.request("session/load", { cwd: acp.place.project, sessionId, mcpServers: [] });
  const [closed, loaded, again] = await Promise.allSettled([
    acp.agent.request("session/close", { sessionId }),
    load(),
    load(),
  ]);
  expect([closed.status, loaded.status]).toEqual(["fulfilled", "fulfilled"]);
  expect(again).toMatchObject({ reason: { message: expect.stringContaining("is open already: close it first") } });
  expect(await acp.prompt(sessionId, "on")).toEqual({ stopReason: "end_turn" });
});

test("a part of an id is no session", async () => {
  await using acp = await openAcp([say("first")]);
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  await acp.agent.request("session/close", { sessionId });
  const load = acp.agent.request("session/load", {
    cwd: acp.place.project,
    sessionId: sessionId.slice(0, 20),
    mcpServers: [],
  });
  expect(await load.catch((error: unknown) => error)).toMatchObject({ code: -32002 });
});

test("sessions of a directory are listed by any path to it", async () => {
  await using acp = await openAcp([say("first")]);
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  const link = join(acp.place.home, "link");
  symlinkSync(acp.place.project, link);
  expect(await acp.agent.request("session/list", { cwd: link })).toMatchObject({ sessions: [{ sessionId }] });
});

test("a session that has ended by itself says why", async () => {
  await using acp = await openAcp([hang()], { args: ["--timeout", "1s"] });
  const { sessionId } = await acp.begin();
  const failure = (prompt: Promise<unknown>) => prompt.catch((error: unknown) => error);
  expect(await failure(acp.prompt(sessionId, "go"))).toMatchObject({ data: { code: "timeout" } });
  // Until nothing of it runs any more, it fails for the same reason.
  const words = "has ended: The run took longer than 1s (--timeout); load it to go on";
  for (let error; !String(error).includes(words);) {
    error = await failure(acp.prompt(sessionId, "on"));
    expect(error).toMatchObject({ data: { code: "timeout" } });
  }
});

test("the clock of --idle-timeout stands still between turns", async () => {
  await using acp = await openAcp([call("Bash", { command: "sleep 0.3" }), say("one"), hang()], {
    args: ["--idle-timeout", "1500ms"],
  });
  const { sessionId } = await acp.begin();
  // Longer than the limit, with another session as the clock.
  const other = await acp.begin();
  await acp.prompt(other.sessionId, "go");
  const hanging = await acp.prompt(other.sessionId, "hang").catch((error: unknown) => error);
  expect(hanging).toMatchObject({ data: { code: "idle_timeout" } });
  const { configOptions } = await acp.agent.request("session/set_config_option", {
    sessionId,
    configId: "mode",
    value: "plan",
  });
  expect(configOptions[0]).toMatchObject({ currentValue: "plan" });
});

test("what was submitted before kill -9 is not carried out when the session is loaded", async () => {
  await using place = makePlace();
  await using server = await startModelServer([hang(), say("third")]);
  const killed = await startAcp(place, using(server));
  const { sessionId } = await killed.begin();
  const ignored = () => undefined;
  killed.prompt(sessionId, "one").catch(ignored);
  await server.nextRequest();
  killed.prompt(sessionId, "two").catch(ignored);
  // An answer comes behind whatever was sent before.
  await killed.agent.request("session/list", {});
  await killed[Symbol.asyncDispose]();

  await using acp = await startAcp(place, using(server));
  await acp.agent.request("session/load", { cwd: place.project, sessionId, mcpServers: [] });
  await acp.prompt(sessionId, "three");
  expect(promptsOf(server.requests.at(-1))).toEqual(["one", "three"]);
  expect(server.requests).toHaveLength(2);
});

test.each(["hangs up", "SIGTERM"])("a client that reads no more does not keep koda from its end: %s", async (way) => {
  await using place = makePlace();
  await using server = await startModelServer(() => say(...Array.from({ length: 100 }, () => "x".repeat(100_000))));
  const child = Bun.spawn([binary, "acp", ...using(server)], {
    cwd: place.project,
    env: place.env,
    stdin: "pipe",
    stdout: "pipe",
  });
  const send = (id: number, method: string, params: unknown) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    void child.stdin.flush();
  };
  send(1, "initialize", { protocolVersion: 1 });
  send(2, "session/new", { cwd: place.project, mcpServers: [] });
  const reader = child.stdout.getReader();
  let read = "";
  while (!read.includes('"id":2')) read += new TextDecoder().decode((await reader.read()).value);
  const sessionId = /"sessionId":"([^"]+)"/.exec(read)?.[1];
  send(3, "session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
  await server.nextRequest();
  if (way === "SIGTERM") child.kill("SIGTERM");
  else void child.stdin.end();
  expect(await child.exited).toBe(way === "SIGTERM" ? 143 : 0);
});

test("a client that hangs up while its session is being opened leaves nothing behind", async () => {
  await using acp = await openAcp([]);
  const temporary = () => readdirSync(acp.place.env.TMPDIR ?? "");
  acp.begin().catch(() => undefined);
  await until(() => temporary().length > 0);
  expect(await acp.finish()).toBe(0);
  expect(temporary()).toEqual([]);
});
