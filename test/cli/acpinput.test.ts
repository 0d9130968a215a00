import { expect, test } from "bun:test";
import type { ContentBlock, McpServer } from "@agentclientprotocol/sdk";
import { openAcp } from "../support/acp.ts";
import { serverOf } from "../support/mcp.ts";
import { call, say } from "../support/model-reply.ts";
import { tree } from "../support/place.ts";

test("a prompt that no model takes is refused, and the session goes on without it", async () => {
  await using acp = await openAcp([say("ok")]);
  const { sessionId } = await acp.begin();
  const prompts: [ContentBlock[], string][] = [
    [[], "Cannot accept an empty prompt"],
    [[{ type: "text", text: " \n" }], "Cannot accept an empty prompt"],
    [[{ type: "image", mimeType: "image/png", data: "###" }], "Cannot use an image of the prompt"],
    [[{ type: "image", mimeType: "image/png", data: "aGVsbG8=" }], "Cannot use an image of the prompt"],
  ];
  for (const [prompt, words] of prompts)
    expect(
      await acp.agent.request("session/prompt", { sessionId, prompt }).catch((error: unknown) => error),
    ).toMatchObject({ code: -32602, message: expect.stringContaining(words) });
  expect(await acp.prompt(sessionId, "go")).toEqual({ stopReason: "end_turn" });
});

test("a client names its servers as it likes", async () => {
  await using acp = await openAcp(() => say("done"), { args: ["--allow-read", tree] });
  const { command, args } = serverOf({ tools: [{ name: "greet", description: "greets", does: "echo" }] }) as Program;
  const names = ["my server", "my__server", "my server", "", "../x", "a name that is longer than thirty-two letters"];
  const mcpServers = names.map((name): McpServer => ({ name, command, args, env: [] }));
  const { sessionId } = await acp.agent.request("session/new", { cwd: acp.place.project, mcpServers });
  // The first request may be made before the last server is up.
  const greeters = () => (acp.server.requests.at(-1)?.raw ?? "").match(/"name":"[^"]*__greet"/g) ?? [];
  while (greeters().length < names.length) await acp.prompt(sessionId, "go");
  expect(
    greeters()
      .map((name) => JSON.parse(`{${name}}`).name)
      .toSorted(),
  ).toEqual([
    "-x__greet",
    "a-name-that-is-longer-than-t__greet",
    "my-server-2__greet",
    "my-server__greet",
    "my_server__greet",
    "server__greet",
  ]);
});

type Program = { command: string; args: string[] };

test("an answer to a permission that is none of its options is a denial", async () => {
  for (const answer of [{ outcome: { outcome: "selected", optionId: "all" } }, {}, { outcome: null }]) {
    await using acp = await openAcp([call("Bash", { command: "touch a" }), say("then not")], {
      args: ["--mode", "safe"],
      permission: async () => answer as never,
    });
    const { sessionId } = await acp.begin();
    expect(await acp.prompt(sessionId, "go")).toEqual({ stopReason: "end_turn" });
    expect(acp.updates.findLast(({ sessionUpdate }) => sessionUpdate === "tool_call_update")).toMatchObject({
      status: "failed",
      content: [{ content: { text: expect.stringContaining("its answer is none of the options") } }],
    });
  }
});

test("a message that is too long ends koda, which says so", async () => {
  await using acp = await openAcp([]);
  acp.child.stdin.write("x".repeat(32 * 1024 * 1024 + 1));
  expect(await acp.child.exited).toBe(2);
  expect(await acp.stderr).toContain("longer than 32 MB");
});
