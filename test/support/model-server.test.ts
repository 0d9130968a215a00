import { describe, expect, test } from "bun:test";
import { call, cut, drip, hang, measure, problem, raw, reply, say, status, think, wait } from "./model-reply.ts";
import { refusingUrl, startModelServer } from "./model-server.ts";

const hello = { model: "scripted", stream: true, messages: [{ role: "user", content: "hello" }] };

async function post(url: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body), ...(signal && { signal }) });
}

const chat = (url: string, body: object = hello) => post(`${url}/chat/completions`, body);
const responses = (url: string, body: object) => post(`${url}/responses`, { model: "scripted", stream: true, ...body });

describe("the scripted model server", () => {
  test("streams a reply as Chat Completions do", async () => {
    await using server = await startModelServer([
      reply(think("hm"), say("Hello ", "there"), call("Read", { path: "a" }), { usage: { input: 7 } }),
    ]);
    const response = await chat(server.url, { ...hello, stream_options: { include_usage: true } });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const text = await response.text();
    expect(text).toContain('"content":"Hello "');
    expect(text).toContain('"reasoning_content":"hm"');
    expect(text).toContain('"finish_reason":"tool_calls"');
    expect(text).toContain('"prompt_tokens":7');
    expect(text).toEndWith("data: [DONE]\n\n");
  });

  test("streams the same reply as Responses do", async () => {
    await using server = await startModelServer([reply(think("hm", "secret"), call("Read", { path: "a" }))]);
    const text = await (await responses(server.url, { input: [{ role: "user", content: "hello" }] })).text();
    expect(text).toContain('"encrypted_content":"secret"');
    expect(text).toContain('"arguments":"{\\"path\\":\\"a\\"}"');
    expect(text).toContain("event: response.completed\n");
  });

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

  test("waits in mid-reply until the test says so", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await startModelServer([reply(say("before"), wait(gate.promise), say("after"))]);
    const body = (await chat(server.url)).body;
    let text = "";
    for await (const chunk of body ?? []) {
      text += new TextDecoder().decode(chunk);
      if (text.includes("before") && !text.includes("after")) gate.resolve();
    }
    expect(text).toContain("after");
  });

  test.each(["fin", "rst"] as const)("breaks the connection with %s after so many frames", async (how) => {
    const arrived = Promise.withResolvers<void>();
    const entry = reply(say("one"), wait(arrived.promise), say("two"));
    await using server = await startModelServer([cut(entry, { frames: 2 }, how)]);
    const body = (await chat(server.url)).body;
    let text = "";
    const read = async () => {
      for await (const chunk of body ?? []) {
        text += new TextDecoder().decode(chunk);
        if (text.includes("one")) arrived.resolve();
      }
    };
    await expect(read()).rejects.toThrow();
    expect(text).toContain("one");
    expect(text).not.toContain("two");
  });

  test("cuts at a byte and leaves the HTTP whole", async () => {
    const { bytes, frames } = measure(say("hello"), "chat");
    await using server = await startModelServer([cut(say("hello"), { bytes: bytes - 1 }, "end"), say("hello")]);
    const asked = { ...hello, stream_options: { include_usage: true } };
    const short = await (await chat(server.url, asked)).text();
    const whole = await (await chat(server.url, asked)).text();
    expect(whole).toBe(`${short}\n`);
    expect(whole.match(/data: /g)).toHaveLength(frames);
  });

  test("drips the same bytes", async () => {
    await using server = await startModelServer([drip(say("hello")), say("hello")]);
    const dripped = await (await chat(server.url)).text();
    expect((await (await chat(server.url)).text()).replaceAll("chatcmpl-2", "chatcmpl-1")).toBe(dripped);
  });

  test("answers errors, redirects and nonsense as written", async () => {
    await using server = await startModelServer([
      problem(429, "slow down", { "retry-after": "3" }),
      status(307, "", { location: "http://127.0.0.1:1/" }),
      raw(["rubbish"], { "content-type": "text/html" }),
    ]);
    const limited = await chat(server.url);
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "3"]);
    expect(await limited.json()).toMatchObject({ error: { message: "slow down" } });
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(hello);
    const redirect = { method: "POST", headers, body, redirect: "manual" } as const;
    expect((await fetch(`${server.url}/chat/completions`, redirect)).status).toBe(307);
    const page = await chat(server.url);
    expect([page.headers.get("content-type"), await page.text()]).toEqual(["text/html", "rubbish"]);
  });

  test("knows when the client left", async () => {
    await using server = await startModelServer([hang()]);
    const stop = new AbortController();
    const asked = post(`${server.url}/chat/completions`, hello, stop.signal);
    const seen = await server.nextRequest();
    stop.abort();
    await expect(asked).rejects.toThrow();
    expect(await seen.ended).toBe("gone");
  });

  test("lists models, and is gone after close", async () => {
    await using server = await startModelServer([], { models: ["a", "b"] });
    const list = await (await fetch(`${server.url}/models`)).json();
    expect(list).toMatchObject({ data: [{ id: "a" }, { id: "b" }] });
    await expect(fetch(`${await refusingUrl()}/models`)).rejects.toThrow();
  });
});
