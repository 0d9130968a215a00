/**
 * A provider in a process of its own, so that its work is not counted: a call after each prompt, then an answer. It
 * says its port.
 */
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const frame = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const end = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage })}\n\ndata: [DONE]\n\n`;
const call = {
  tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "Note", arguments: '{"n":1}' } }],
};
const replies = [
  frame({ role: "assistant", content: null, ...call }, "tool_calls") + end,
  frame({ role: "assistant", content: "Done with that." }, "stop") + end,
];

let asked = 0;
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    await request.arrayBuffer();
    return new Response(replies[asked++ % 2], { headers: { "content-type": "text/event-stream" } });
  },
});
console.log(server.port);
