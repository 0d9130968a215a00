import { describe, expect, test } from "bun:test";
import { say } from "./model-reply.ts";
import { refusingUrl, startModelServer } from "./model-server.ts";

const hello = { model: "scripted", stream: true, messages: [{ role: "user", content: "hello" }] };

async function post(url: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body), ...(signal && { signal }) });
}

const chat = (url: string, body: object = hello) => post(`${url}/chat/completions`, body);
const responses = (url: string, body: object) => post(`${url}/responses`, { model: "scripted", stream: true, ...body });

describe("the scripted model server", () => {
  test("keeps what was asked, in order, with the body's own text", async () => {
    await using server = await startModelServer([say("one"), say("two")]);
    const first = server.nextRequest();
    await (await chat(server.url)).text();
    await (await chat(server.url)).text();
    expect((await first).raw).toBe(JSON.stringify(hello));
    expect((await server.nextRequest()).lines).toEqual([{ role: "user", text: "hello", images: 0, calls: [] }]);
    expect(await server.requests[0]?.ended).toBe("sent");
  });

  test("answers 500 when the script is over, and says so", async () => {
    await using server = await startModelServer([]);
    const response = await chat(server.url);
    expect(response.status).toBe(500);
    expect(await response.text()).toContain("The script has 0 replies, and this is request 1.");
    expect(server.problems).toHaveLength(1);
  });

  const made = (id: string, name = "Read") => ({ id, type: "function", function: { name, arguments: "{}" } });
  const user = { role: "user", content: "hello" };
  const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "x" });
  const calls = (...tool_calls: object[]) => ({ role: "assistant", content: null, tool_calls });
  const item = (call_id: string) => ({ type: "function_call", call_id, name: "Read", arguments: "{}" });
  const output = (call_id: string) => ({ type: "function_call_output", call_id, output: "x" });
  const tool = { type: "function", function: { name: "Read", parameters: { type: "object" } } };

  test.each<[string, object]>([
    ["no result directly after the call", { messages: [user, calls(made("a"), made("b")), result("a"), user] }],
    ["no result for the call", { messages: [user, calls(made("a"))] }],
    ["answers no call", { messages: [user, result("a")] }],
    ["answers no call", { messages: [user, calls(made("a")), result("a"), result("a")] }],
    ["two calls have the id", { messages: [user, calls(made("a"), made("a")), result("a")] }],
    ["is not valid", { messages: [user, calls(made("a", "no spaces")), result("a")] }],
    ["neither content nor tool_calls", { messages: [user, { role: "assistant", content: "" }, user] }],
    [
      "only a user message can hold an image",
      {
        messages: [
          user,
          calls(made("a")),
          { ...result("a"), content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }] },
        ],
      },
    ],
    ["tools: must not be empty", { messages: [user], tools: [] }],
    ["names must be unique", { messages: [user], tools: [tool, tool] }],
    ["tool_choice", { messages: [user], tool_choice: "none" }],
    ["stream: must be true", { messages: [user], stream: false }],
    ["no result directly after the call", { input: [user, item("a"), user, output("a")] }],
    ["answers no call", { input: [user, output("a")] }],
    [
      "without the item that must follow",
      { input: [user, { type: "reasoning", summary: [], encrypted_content: "x" }] },
    ],
    [
      "encrypted_content is required",
      { store: false, input: [user, { type: "reasoning", summary: [] }, item("a"), output("a")] },
    ],
  ])("refuses what a strict provider refuses: %s", async (reason, body) => {
    await using server = await startModelServer([say("never")]);
    const response = await ("input" in body ? responses(server.url, body) : chat(server.url, { ...hello, ...body }));
    expect(await response.text()).toContain(reason);
    expect(response.status).toBe(400);
    expect(server.problems.join()).toContain(reason);
  });

  test("accepts calls with their results on both wires", async () => {
    await using server = await startModelServer(() => say("fine"));
    const messages = [user, calls(made("a"), made("b")), result("b"), result("a"), user];
    expect((await chat(server.url, { ...hello, messages, tools: [tool] })).status).toBe(200);
    const reasoning = { type: "reasoning", summary: [], encrypted_content: "x" };
    const input = [user, reasoning, item("a"), item("b"), output("a"), output("b")];
    expect((await responses(server.url, { input, store: false })).status).toBe(200);
    expect(server.problems).toEqual([]);
  });

  test("lists models, and is gone after close", async () => {
    await using server = await startModelServer([], { models: ["a", "b"] });
    const list = await (await fetch(`${server.url}/models`)).json();
    expect(list).toMatchObject({ data: [{ id: "a" }, { id: "b" }] });
    await expect(fetch(`${await refusingUrl()}/models`)).rejects.toThrow();
  });
});
