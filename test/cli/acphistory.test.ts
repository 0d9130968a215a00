import { expect, test } from "bun:test";
import { openAcp, startAcp } from "../support/acp.ts";
import { using } from "../support/koda.ts";
import { call, say, think } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

const image = Buffer.from(
  "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;",
  "latin1",
);

test("a loaded session shows what the client saw, with the same ids for its calls", async () => {
  await using acp = await openAcp(
    [
      [think("hm"), call("Write", { path: "a", content: "x" }, { id: "same" })],
      [say("now"), call("Bash", { command: "printf '\\033[31mred'" }, { id: "same" })],
      call("Delete", { path: "a" }, { id: "same" }),
      say("done"),
    ],
    {
      args: ["--mode", "safe"],
      permission: async ({ toolCall }) => chosen(toolCall.kind === "delete" ? "deny" : "once"),
    },
  );
  const { sessionId } = await acp.begin();
  const data = image.toString("base64");
  const prompt = [
    { type: "text" as const, text: "look" },
    { type: "image" as const, mimeType: "image/gif", data },
  ];
  await acp.agent.request("session/prompt", { sessionId, prompt });
  const live = shown(acp.updates.splice(0));
  await acp.agent.request("session/close", { sessionId });
  await acp.agent.request("session/load", { cwd: acp.place.project, sessionId, mcpServers: [] });
  const [text, picture, ...loaded] = shown(acp.updates);
  expect(text).toMatchObject({ sessionUpdate: "user_message_chunk", content: { text: "look" } });
  expect(picture).toMatchObject({ content: { type: "image", data } });
  expect(loaded).toEqual(live);
  expect(new Set(live.flatMap(({ toolCallId = [] }) => toolCallId)).size).toBe(3);
});

const chosen = (optionId: string) => ({ outcome: { outcome: "selected" as const, optionId } });

type Shown = { sessionUpdate: string; toolCallId?: unknown; content?: unknown };

/** Messages and calls, with the last state of each. */
function shown(updates: readonly Shown[]): Shown[] {
  const seen: Shown[] = [];
  for (const { sessionUpdate, toolCallId, content, ...rest } of updates) {
    const call = toolCallId && seen.find((other) => other.toolCallId === toolCallId);
    if (call) Object.assign(call, content && { content }, "status" in rest && { status: rest.status });
    else if (toolCallId) seen.push({ sessionUpdate, toolCallId, content, ...rest });
    else if (sessionUpdate.endsWith("_chunk")) seen.push({ sessionUpdate, content });
  }
  return seen;
}

test("a call that kill -9 cut off is shown as failed", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "sleep 1000" }), say("never")]);
  const killed = await startAcp(place, using(server));
  const { sessionId } = await killed.begin();
  killed.prompt(sessionId, "go").catch(() => undefined);
  await killed.until(() => killed.updates.some(({ sessionUpdate }) => sessionUpdate === "tool_call"));
  await killed[Symbol.asyncDispose]();

  await using acp = await startAcp(place, using(server));
  await acp.agent.request("session/load", { cwd: place.project, sessionId, mcpServers: [] });
  expect(acp.updates.findLast(({ sessionUpdate }) => sessionUpdate === "tool_call_update")).toMatchObject({
    status: "failed",
  });
});

test("the thoughts of two replies are two messages", async () => {
  await using acp = await openAcp([
    [think("one"), call("Bash", { command: "true" })],
    [think("two"), call("Bash", { command: "true" })],
    say("done"),
  ]);
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  const ids = acp.updates.flatMap((update) =>
    update.sessionUpdate === "agent_thought_chunk" ? [update.messageId] : [],
  );
  expect(new Set(ids).size).toBe(2);
});

test("a question about a host is shown as a connection, each as one of its own", async () => {
  const command = "curl -s http://example.invalid/";
  const script = [call("Bash", { command }), say("done"), call("Bash", { command }), say("done")];
  await using acp = await openAcp(script);
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  await acp.agent.request("session/close", { sessionId });
  await acp.agent.request("session/resume", { cwd: acp.place.project, sessionId, mcpServers: [] });
  await acp.prompt(sessionId, "again");
  const shown = { kind: "fetch", title: "Connect to example.invalid:80" };
  expect(acp.asked.map(({ toolCall }) => toolCall)).toMatchObject([shown, shown]);
  expect(new Set(acp.asked.map(({ toolCall }) => toolCall.toolCallId)).size).toBe(2);
});
