import { describe, expect, test } from "bun:test";
import type { CallPart, Message } from "../../lib/model/message.ts";
import { type Wire, wires } from "../../lib/config/config.ts";
import type { ModelEvent, ModelRequest } from "../../lib/model/model.ts";
import { type ConnectionOptions, connectTo, converse, eventsOf, hello } from "../support/model-connection.ts";
import { call, drip, raw, reply, say, status, think, wait } from "../support/model-reply.ts";
import { messagesEvent } from "../support/model-messages.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { chatChunk, responsesEvent } from "../support/model-wire.ts";

const thoughtField = { chat: "reasoning", responses: "encrypted_content", messages: "signature" } as const;
/** Breakpoints of the cache move with the end of the conversation and are no part of what is cached. */
const withoutMarks = (body: string) => body.replaceAll(',"cache_control":{"type":"ephemeral"}', "");
const none = { input: null, cached: null, output: null, reasoning: null };
const picture = { type: "image", mime: "image/png", base64: "iVBORw0KGgo=" } as const;
const text = (value: string) => ({ type: "text", text: value }) as const;
const tools = [
  { name: "Read", about: "Reads a file.", input: { type: "object", properties: { path: { type: "string" } } } },
  { name: "Bash", about: "Runs a command.", input: { type: "object", properties: {} } },
];

function said(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}

function calls(events: readonly ModelEvent[]): CallPart[] {
  return events.flatMap((event) => (event.type === "call" ? [event.call] : []));
}

/** The server's request for a request to the model. */
async function asked(wire: Wire, request: Partial<ModelRequest>, options?: ConnectionOptions) {
  await using server = await startModelServer([say("fine")]);
  await converse(connectTo(server.url, wire, options), { ...hello, ...request });
  expect(server.problems).toEqual([]);
  return await server.nextRequest();
}

/** The whole conversation of a reply with two calls, as the next request holds it. */
const worked: readonly Message[] = [
  ...hello.messages,
  {
    role: "assistant",
    parts: [
      { type: "thinking", text: "look first", token: "test/scripted encrypted_content sealed" },
      text("I look."),
      { type: "call", id: "a", tool: "Read", arguments: '{"path":"x"}' },
      { type: "call", id: "b", tool: "no such tool!", arguments: "{malformed" },
    ],
  },
  { role: "tool", call: "a", tool: "Read", ok: true, parts: [text("contents"), picture] },
  { role: "tool", call: "b", tool: "no such tool!", ok: false, parts: [] },
];

describe.each(wires)("over the wire %s", (wire) => {
  const answerTo = async (server: ModelServer, options?: ConnectionOptions) =>
    converse(connectTo(server.url, wire, options), { ...hello, tools });

  test("a reply is its text, piece by piece, and its end", async () => {
    await using server = await startModelServer([reply(say("Hello ", "there"), { usage: null })]);
    expect(await answerTo(server)).toEqual([
      { type: "text", text: "Hello " },
      { type: "text", text: "there" },
      { type: "end", reason: "stop", usage: none },
    ]);
  });

  test("thoughts come before what they led to, and parallel calls in the model's order", async () => {
    await using server = await startModelServer([
      reply(think("hm, well"), say("Right."), call("Read", { path: "a" }), call("Bash", { command: "ls" })),
    ]);
    const events = await answerTo(server);
    expect(events.map(({ type }) => type)).toEqual(["thinking", "thinking", "thought", "text", "call", "call", "end"]);
    expect(calls(events)).toEqual([
      { type: "call", id: "call_1_1", tool: "Read", arguments: '{"path":"a"}' },
      { type: "call", id: "call_1_2", tool: "Bash", arguments: '{"command":"ls"}' },
    ]);
    expect(events.at(-1)).toMatchObject({ reason: "calls" });
  });

  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["filter", "filter"],
  ] as const)("the finish %s is told as %s", async (finish, reason) => {
    await using server = await startModelServer([reply(say("x"), { finish })]);
    expect((await answerTo(server)).at(-1)).toMatchObject({ type: "end", reason });
  });

  test("usage is what was reported, and null where nothing was", async () => {
    const usage = { input: 900, cached: null, output: 30, reasoning: 20 };
    await using server = await startModelServer([reply(say("x"), { usage }), reply(say("x"), { usage: null })]);
    expect((await answerTo(server)).at(-1)).toMatchObject({ usage });
    expect((await answerTo(server)).at(-1)).toMatchObject({ usage: none });
  });

  test("a call without arguments has an empty object, and malformed ones stay as they were written", async () => {
    await using server = await startModelServer([reply(call("Read", ""), call("Read", "{oops"))]);
    expect(calls(await answerTo(server)).map((made) => made.arguments)).toEqual(["{}", "{oops"]);
  });

  test("a long reply that arrives at once gives every piece by itself", async () => {
    const pieces = Array.from({ length: 2000 }, (_, n) => `word ${n} `);
    await using server = await startModelServer([reply(say(...pieces))]);
    const texts = (await answerTo(server)).flatMap((event) => (event.type === "text" ? [event.text] : []));
    expect(texts).toEqual(pieces);
  });

  test("a megabyte of arguments arrives whole", async () => {
    const content = "é€😀x".repeat(200_000);
    await using server = await startModelServer([call("Write", { content }, { pieceLength: 4096 })]);
    expect(calls(await answerTo(server))[0]?.arguments).toBe(JSON.stringify({ content }));
  });

  test("a stream that drips byte by byte gives the same events", async () => {
    const entry = reply(think("ä"), say("größer ", "😀"), call("Read", { path: "ü" }));
    await using server = await startModelServer([entry, drip(entry)]);
    const whole = await answerTo(server);
    const renumbered = JSON.stringify(await answerTo(server)).replaceAll("call_2_", "call_1_");
    expect(renumbered).toBe(JSON.stringify(whole));
  });

  test("a piece is given on when it arrives, not when the next one does", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await startModelServer([reply(say("first"), wait(gate.promise), say("second"))]);
    const model = connectTo(server.url, wire);
    const pieces: string[] = [];
    for await (const event of eventsOf(model(hello, new AbortController().signal))) {
      if (event.type !== "text") continue;
      pieces.push(event.text);
      // The server is still waiting for this.
      gate.resolve();
    }
    expect(pieces).toEqual(["first", "second"]);
  });

  test("every chunk that arrives is heard", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await startModelServer([reply(say("a"), wait(gate.promise), say("b"))]);
    let chunks = 0;
    const heard = () => {
      chunks++;
      if (chunks > 1) gate.resolve();
    };
    await converse(connectTo(server.url, wire), { ...hello, heard });
    // The head, and at least one chunk on each side of the gate.
    expect(chunks).toBeGreaterThanOrEqual(3);
  });

  test("carriage returns, comments, names and frames of several lines are all server-sent events", async () => {
    const one: Record<Wire, string> = {
      chat: chatChunk({ content: "hi" }, "stop"),
      responses:
        responsesEvent("response.output_text.delta", { output_index: 0, delta: "hi" }) +
        responsesEvent("response.completed", { response: { status: "completed" } }),
      messages:
        messagesEvent({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } }) +
        messagesEvent({ type: "message_stop" }),
    };
    const spread = one[wire].replace(/\{/, "{\ndata:").replaceAll("\n", "\r\n");
    await using server = await startModelServer([drip(raw([": keep-alive\r\n\r\n", "event: x\r\n\r\n", spread]), 3)]);
    expect(said(await answerTo(server))).toBe("hi");
  });

  test("a server that does not stream is understood as well", async () => {
    const whole: Record<Wire, object> = {
      chat: { choices: [{ message: { role: "assistant", content: "whole" }, finish_reason: "stop" }] },
      responses: {
        object: "response",
        status: "completed",
        output: [{ type: "message", content: [{ text: "whole" }] }],
      },
      messages: { type: "message", content: [{ type: "text", text: "whole" }], stop_reason: "end_turn" },
    };
    await using server = await startModelServer([status(200, whole[wire])]);
    const events = await answerTo(server);
    expect(said(events)).toBe("whole");
    expect(events.at(-1)).toMatchObject({ type: "end", reason: "stop" });
  });

  test("a request holds what the conversation holds, in a form that a strict provider takes", async () => {
    const { lines, tools: offered } = await asked(wire, { messages: worked, tools });
    expect(offered).toEqual(["Read", "Bash"]);
    expect(lines.map(({ role, text: content, images, call: of }) => [role, content, images, of])).toEqual(
      wire === "chat"
        ? [
            ["system", "You are a test.", 0, undefined],
            ["user", "hello", 0, undefined],
            ["assistant", "I look.", 0, undefined],
            ["tool", "contents\n[image: see the next message]", 0, "a"],
            ["tool", "(empty)", 0, "b"],
            ["user", "Images from Read:", 1, undefined],
          ]
        : [
            ["system", "You are a test.", 0, undefined],
            ["user", "hello", 0, undefined],
            ["assistant", "I look.", 0, undefined],
            ["tool", "contents", 1, "a"],
            ["tool", "(empty)", 0, "b"],
          ],
    );
    expect(lines[2]?.calls).toEqual([
      { id: "a", tool: "Read", arguments: '{"path":"x"}' },
      // The API of Messages takes nothing but an object.
      { id: "b", tool: "no_such_tool_", arguments: wire === "messages" ? '{"malformed":"{malformed"}' : "{malformed" },
    ]);
  });

  test("images go with the prompt, or a word in their place when the model takes none", async () => {
    const messages = [{ role: "user", parts: [text("what is it?"), picture] }] as const;
    expect((await asked(wire, { messages })).lines.at(-1)).toMatchObject({ text: "what is it?", images: 1 });
    const blind = await asked(wire, { messages }, { info: { images: false } });
    expect(blind.lines.at(-1)).toMatchObject({ text: "what is it?\n[image: this model accepts no images]", images: 0 });
  });

  test("a reply that was nothing but a thought leaves nothing that a provider would refuse", async () => {
    const thought: Message = {
      role: "assistant",
      parts: [{ type: "thinking", text: "hm", token: `test/scripted ${thoughtField[wire]} sealed` }],
    };
    const { lines } = await asked(wire, { messages: [...hello.messages, thought, ...hello.messages] });
    expect(lines.map(({ role }) => role)).not.toContain("assistant");
  });

  test("each request begins with the bytes of the one before it, up to its last message", async () => {
    const grown: Message[] = [...worked, { role: "assistant", parts: [text("Done.")] }, ...hello.messages];
    const steps: ModelRequest[] = [
      { ...hello, tools },
      { ...hello, tools, messages: worked },
      { ...hello, tools, messages: grown },
      {
        ...hello,
        tools,
        messages: [...grown, { role: "assistant", parts: [text("x")] }, ...hello.messages],
        withoutTools: true,
      },
    ];
    await using server = await startModelServer(() => say("fine"));
    const model = connectTo(server.url, wire, {
      settings: { temperature: 1, maxOutputTokens: 9, reasoningEffort: "low" },
    });
    for (const step of steps) await converse(model, step);

    const bodies = server.requests.map(({ raw: body }) => withoutMarks(body));
    for (const [index, earlier] of bodies.slice(0, -1).entries()) {
      const messagesEnd = earlier.lastIndexOf("]");
      expect(bodies[index + 1]?.slice(0, messagesEnd)).toBe(earlier.slice(0, messagesEnd));
    }
    const none = wire === "messages" ? '{"type":"none"}' : '"none"';
    expect(bodies.at(-1)).toEndWith(`],"tool_choice":${none}}`);
    expect(server.requests.at(-1)?.tools).toEqual(["Read", "Bash"]);
  });

  test("without tools neither tools nor a choice among them is sent", async () => {
    const { body } = await asked(wire, { withoutTools: true });
    expect(body).not.toContainAnyKeys(["tools", "tool_choice"]);
  });

  test("settings are passed on under the name that the wire has for them", async () => {
    const bodies: Record<Wire, object> = {
      chat: { temperature: 0.5, max_completion_tokens: 30_000, reasoning_effort: "high" },
      responses: { temperature: 0.5, max_output_tokens: 30_000, reasoning: { effort: "high" } },
      messages: { max_tokens: 30_000, thinking: { type: "enabled", budget_tokens: 24_000 } },
    };
    const settings = { temperature: 0.5, maxOutputTokens: 30_000, reasoningEffort: "high" } as const;
    const { temperature, ...others } = settings;
    const { body } = await asked(wire, {}, { settings: wire === "messages" ? others : { ...others, temperature } });
    expect(body).toMatchObject(bodies[wire]);
  });

  test("the key goes into the headers of its wire, and nothing of the environment into any other", async () => {
    const { headers } = await asked(wire, {}, { key: "sk-secret" });
    expect(headers.authorization).toBe("Bearer sk-secret");
    const own = wire === "messages" ? ["anthropic-version", "x-api-key"] : [];
    const known = [
      ...own,
      "accept",
      "accept-encoding",
      "authorization",
      "connection",
      "content-length",
      "content-type",
      "host",
    ];
    expect(Object.keys(headers).toSorted()).toEqual([...known, "user-agent"].toSorted());
    expect(await asked(wire, {})).not.toHaveProperty("headers.authorization");
  });

  test("an abort in mid-stream throws its reason and closes the connection", async () => {
    await using server = await startModelServer([reply(say("a"), wait(new Promise(() => {})))]);
    const stop = new AbortController();
    const reason = new Error("enough");
    const read = async () => {
      for await (const event of eventsOf(connectTo(server.url, wire)(hello, stop.signal))) {
        if (event.type === "text") stop.abort(reason);
      }
    };
    await expect(read()).rejects.toBe(reason);
    expect(await (await server.nextRequest()).ended).toBe("gone");
  });

  test("an abort before the headers, or before the request, throws its reason as well", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await startModelServer([() => [{ type: "wait", until: gate.promise }]]);
    const stop = new AbortController();
    const reason = new Error("enough");
    const waiting = converse(connectTo(server.url, wire), hello, stop.signal);
    await server.nextRequest();
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(converse(connectTo(server.url, wire), hello, stop.signal)).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
  });

  test("who stops reading closes the connection", async () => {
    await using server = await startModelServer([reply(say("a"), wait(new Promise(() => {})))]);
    for await (const event of eventsOf(connectTo(server.url, wire)(hello, new AbortController().signal))) {
      expect(event).toEqual({ type: "text", text: "a" });
      break;
    }
    expect(await (await server.nextRequest()).ended).toBe("gone");
  });

  test("two conversations at once do not see each other", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await startModelServer(({ lines }) =>
      reply(wait(gate.promise), say(`to ${lines.at(-1)?.text}`)),
    );
    const model = connectTo(server.url, wire);
    const ask = (prompt: string) => converse(model, { ...hello, messages: [{ role: "user", parts: [text(prompt)] }] });
    const both = Promise.all([ask("one"), ask("two")]);
    await Promise.all([server.nextRequest(), server.nextRequest()]);
    gate.resolve();
    expect((await both).map(said)).toEqual(["to one", "to two"]);
  });
});

describe("over the wire chat", () => {
  const reads = async (...frames: string[]) => {
    await using server = await startModelServer([raw(frames)]);
    return await converse(connectTo(server.url, "chat"));
  };
  const stop = chatChunk({}, "stop");

  test.each<[string, object]>([
    ["reasoning_content", { reasoning_content: "hm" }],
    ["reasoning", { reasoning: "hm" }],
    ["reasoning_content", { reasoning_content: "hm", reasoning: "hm" }],
    ["thinking", { content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }],
  ])("a thought may come as %s", async (field, delta) => {
    const events = await reads(chatChunk(delta), stop);
    expect(events.slice(0, 2)).toEqual([
      { type: "thinking", text: "hm" },
      { type: "thought", part: { type: "thinking", text: "hm", token: `test/scripted ${field} ` } },
    ]);
  });

  test("a refusal is what the model said", async () => {
    expect(said(await reads(chatChunk({ refusal: "No." }), stop))).toBe("No.");
  });

  test("empty choices, a missing role and unknown fields do no harm", async () => {
    const odd = chatChunk(null, null, { choices: [], service_tier: "x" });
    expect(said(await reads(odd, chatChunk({ content: "ok", odd: 1 }), odd, stop))).toBe("ok");
  });

  test.each<[string, string[], object]>([
    ["on the last chunk", [chatChunk({}, "stop", { usage: { prompt_tokens: 5 } })], { input: 5 }],
    ["on a chunk of its own", [stop, chatChunk(null, null, { usage: { completion_tokens: 6 } })], { output: 6 }],
    [
      "on every chunk, growing",
      [
        chatChunk({}, null, { usage: { completion_tokens: 1 } }),
        chatChunk({}, "stop", { usage: { completion_tokens: 2 } }),
      ],
      { output: 2 },
    ],
    [
      "with the cache under another name",
      [chatChunk({}, "stop", { usage: { prompt_cache_hit_tokens: 3 } })],
      { cached: 3 },
    ],
    [
      "with thinking only in the total",
      [chatChunk({}, "stop", { usage: { prompt_tokens: 12, completion_tokens: 2, total_tokens: 354 } })],
      { input: 12, output: 342 },
    ],
    ["as nonsense", [chatChunk({}, "stop", { usage: { prompt_tokens: -1, completion_tokens: "many" } })], {}],
  ])("usage may come %s", async (_name, frames, usage) => {
    expect((await reads(...frames)).at(-1)).toMatchObject({ type: "end", usage: { ...none, ...usage } });
  });

  test.each([
    ["max_tokens", "length"],
    ["end_turn", "stop"],
    ["safety", "filter"],
  ])("the foreign finish reason %s is told as %s", async (theirs, ours) => {
    expect((await reads(chatChunk({ content: "x" }, theirs))).at(-1)).toMatchObject({ reason: ours });
  });

  test("a reply that finished is whole, although the rest of the stream is missing", async () => {
    expect(said(await reads(chatChunk({ content: "whole" }), stop.trimEnd()))).toBe("whole");
  });

  test("a server that finished and then neither ends nor goes on is not waited for", async () => {
    await using server = await startModelServer([
      raw([chatChunk({ content: "x" }, "stop"), wait(new Promise(() => {}))]),
    ]);
    const events = await converse(connectTo(server.url, "chat", { streamIdleMs: 50 }));
    expect(events.at(-1)).toMatchObject({ type: "end", reason: "stop" });
  });

  test("a provider's quirks are in its requests", async () => {
    const quirks = { maxTokens: "max_tokens", plainStream: true, echoThinking: true, callIdLength: 9 } as const;
    const { body, lines } = await asked("chat", { messages: worked }, { quirks, settings: { maxOutputTokens: 7 } });
    expect(body).toMatchObject({ max_tokens: 7, messages: [{}, {}, { reasoning_content: "look first" }, {}, {}, {}] });
    expect(body).not.toContainAnyKeys(["stream_options", "max_completion_tokens"]);
    const ids = lines.flatMap((line) => [...line.calls.map((made) => made.id), ...(line.call ? [line.call] : [])]);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(new Set(ids).size).toBe(2);
  });
});

describe("over the wire responses", () => {
  test("an encrypted thought goes back to the model that had it, and to no other", async () => {
    await using server = await startModelServer([
      reply(think("hm", "sealed"), call("Read", { path: "a" })),
      say("x"),
      say("x"),
    ]);
    const events = await converse(connectTo(server.url, "responses"));
    const thought = events.find((event) => event.type === "thought");
    const parts = [...(thought ? [thought.part] : []), ...calls(events)];
    const messages: Message[] = [
      ...hello.messages,
      { role: "assistant", parts },
      { role: "tool", call: "call_1_1", tool: "Read", ok: true, parts: [text("x")] },
    ];
    await converse(connectTo(server.url, "responses"), { ...hello, messages });
    await converse(connectTo(server.url, "responses", { info: { name: "another" } }), { ...hello, messages });
    const [, own, other] = server.requests;
    expect(own?.body).toMatchObject({
      store: false,
      include: ["reasoning.encrypted_content"],
      input: [
        {},
        { type: "reasoning", encrypted_content: "sealed", summary: [{ type: "summary_text", text: "hm" }] },
        {},
        {},
      ],
    });
    expect(other?.raw).not.toContain("sealed");
    expect(server.problems).toEqual([]);
  });

  test("a thought that led to nothing does not go back", async () => {
    const thinking = { type: "thinking", text: "hm", token: "test/scripted encrypted_content sealed" } as const;
    const messages: Message[] = [
      ...hello.messages,
      { role: "assistant", parts: [text("x"), thinking] },
      ...hello.messages,
    ];
    expect((await asked("responses", { messages })).raw).not.toContain("sealed");
  });

  test("a model that does not reason is not asked for its thoughts", async () => {
    const { body } = await asked("responses", {}, { info: { refuses: ["reasoning_effort"] } });
    expect(body).not.toHaveProperty("include");
  });

  test("items that the server does not count are all there, once", async () => {
    const message = { type: "message", content: [{ type: "output_text", text: "Here." }] };
    const use = (id: string) => ({ type: "function_call", call_id: id, name: "Read", arguments: "{}" });
    const output = [message, use("a"), use("b")];
    const frames = [
      responsesEvent("response.output_text.delta", { delta: "Here." }),
      ...output.map((item) => responsesEvent("response.output_item.done", { item })),
      responsesEvent("response.completed", { response: { status: "completed", output } }),
    ];
    await using server = await startModelServer([raw(frames)]);
    const events = await converse(connectTo(server.url, "responses"));
    expect(said(events)).toBe("Here.");
    expect(calls(events).map(({ id }) => id)).toEqual(["a", "b"]);
  });

  test("items that were never completed one by one are taken from the last event", async () => {
    const output = [
      { type: "message", content: [{ type: "output_text", text: "Here." }] },
      { type: "function_call", call_id: "c", name: "Read", arguments: { path: "a" } },
    ];
    const last = responsesEvent("response.completed", { response: { status: "completed", output } });
    await using server = await startModelServer([raw([last])]);
    const events = await converse(connectTo(server.url, "responses"));
    expect(said(events)).toBe("Here.");
    expect(calls(events)).toEqual([{ type: "call", id: "c", tool: "Read", arguments: '{"path":"a"}' }]);
    expect(events.at(-1)).toMatchObject({ reason: "calls" });
  });
});
