import type { ContentBlock, SessionUpdate } from "@agentclientprotocol/sdk";
import { argumentsOf } from "../session/document.ts";
import { textOfParts } from "../session/content.ts";
import type { ItemOf, LoggedItem } from "../session/item.ts";
import { Calls } from "./calls.ts";
import { planOf } from "./updates.ts";

/** A session as it was, for a client that loads it. */
export function* updatesOfLog(items: Iterable<LoggedItem>, cwd: string): Generator<SessionUpdate, void> {
  const calls = new Calls(cwd);
  for (const item of items) {
    if (item.kind === "user") yield* item.parts.map((part) => chunk("user_message_chunk", part, item));
    if (item.kind === "assistant") yield* updatesOfReply(item, calls);
    if (item.kind === "todo") yield planOf(item.items);
    if (item.kind !== "result") continue;
    const { call: id, ok, parts } = item;
    yield* ended(calls, { id, ok, summary: textOfParts(parts) });
  }
  for (const id of calls.open) yield* ended(calls, { id, ok: false, summary: "koda was stopped before this ended" });
}

function* ended(calls: Calls, call: Parameters<Calls["end"]>[0]): Generator<SessionUpdate, void> {
  const update = calls.end(call);
  if (update !== undefined) yield update;
}

type Reply = ItemOf<"assistant"> & LoggedItem;

function* updatesOfReply(reply: Reply, calls: Calls): Generator<SessionUpdate, void> {
  for (const part of reply.parts)
    if (part.type === "call") yield calls.start({ ...part, input: argumentsOf(part.arguments) });
    else if (part.text !== "")
      yield chunk(
        part.type === "text" ? "agent_message_chunk" : "agent_thought_chunk",
        { ...part, type: "text" },
        reply,
      );
}

type Part = ItemOf<"user">["parts"][number];
type Chunk = "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk";

function chunk(sessionUpdate: Chunk, part: Part, { seq }: LoggedItem): SessionUpdate {
  const content: ContentBlock =
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image", mimeType: part.mime, data: part.base64 };
  return { sessionUpdate, content, messageId: `item-${seq}` };
}
