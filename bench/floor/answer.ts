/** The floor of a streamed answer: one fetch, with its deltas printed as they come. `answer URL [each]` */
import { writeSync } from "node:fs";

const [url = "", each] = process.argv.slice(2);
const response = await fetch(`${url}/chat/completions`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "scripted", stream: true, messages: [{ role: "user", content: "hi" }] }),
});

const decoder = new TextDecoder();
let rest = "";
for await (const chunk of response.body ?? []) {
  rest += decoder.decode(chunk, { stream: true });
  const frames = rest.split("\n\n");
  rest = frames.pop() ?? "";
  for (const frame of frames) print(frame);
}

function print(frame: string): void {
  if (!frame.startsWith("data: {")) return;
  const { choices } = JSON.parse(frame.slice(6)) as { choices?: { delta?: { content?: string } }[] };
  const text = choices?.[0]?.delta?.content;
  if (text !== undefined) writeSync(1, each === "each" ? `${JSON.stringify({ type: "text.delta", text })}\n` : text);
}
