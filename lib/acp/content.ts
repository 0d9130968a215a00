import type { ToolCallContent } from "@agentclientprotocol/sdk";

/** Text that a client shows as it is, also where it renders Markdown. */
export function fenced(text: string): ToolCallContent {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return textContent(`${fence}\n${text.replace(/\n$/, "")}\n${fence}`);
}

export function textContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}
