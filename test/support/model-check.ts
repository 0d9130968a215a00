import type { ChatCompletionContentPart, ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ResponseInputContent, ResponseInputItem, ResponseOutputText } from "openai/resources/responses/responses";
import type { Wire } from "../../lib/config/config.ts";
import { messagesLines } from "./model-messages.ts";

/**
 * A request as each wire means it. `problems` is what a strict provider would refuse it for: every call has exactly
 * one result directly after it, ids are unique, tools are well formed.
 */
export type Conversation = { lines: Line[]; tools: string[]; problems: string[] };

export type Line = {
  role: "system" | "user" | "assistant" | "tool";
  text: string;
  images: number;
  calls: { id: string; tool: string; arguments: string }[];
  /** The call that a tool's line answers. */
  call?: string;
};

export function readConversation(wire: Wire, body: Json): Conversation {
  const problems: string[] = [];
  const refuse = (problem: string) => void problems.push(problem);
  if (text(body.model) === "") refuse("model: required");
  if (body.stream !== true) refuse("stream: must be true");

  const lines = linesByWire[wire](body, refuse);
  const tools = toolNames(wire, body, refuse);
  checkPairs(lines, refuse);
  return { lines, tools, problems };
}

const linesByWire = { chat: chatLines, responses: responsesLines, messages: messagesLines } as const;

type Json = { readonly [key: string]: unknown };
type Refuse = (problem: string) => void;

function chatLines(body: Json, refuse: Refuse): Line[] {
  return list(body.messages).map((message, index) => {
    const at = `messages[${index}]`;
    const given = message.role as ChatCompletionMessageParam["role"];
    const role = given === "developer" ? "system" : given;
    if (role !== "system" && role !== "user" && role !== "assistant" && role !== "tool") {
      refuse(`${at}.role: ${JSON.stringify(message.role)} is not a role`);
    }
    if (role === "system" && index > 0) refuse(`${at}: a system message may only come first`);

    const calls = list(message.tool_calls).map((call) => {
      const made = object(call.function);
      if (call.type !== "function") refuse(`${at}.tool_calls: type must be "function"`);
      if (typeof made.arguments !== "string") refuse(`${at}.tool_calls: arguments must be a string`);
      return { id: text(call.id), tool: text(made.name), arguments: text(made.arguments) };
    });
    if (message.tool_calls !== undefined && calls.length === 0) refuse(`${at}.tool_calls: must not be empty`);
    if (role === "assistant" && calls.length === 0 && !message.content) refuse(`${at}: neither content nor tool_calls`);
    const content = contentOf(message.content, `${at}.content`, refuse);
    if (content.images > 0 && role !== "user") refuse(`${at}: only a user message can hold an image`);
    if (role === "user" && content.text === "" && content.images === 0) refuse(`${at}.content: must not be empty`);

    const line: Line = { role: role as Line["role"], ...content, calls };
    return role === "tool" ? { ...line, call: text(message.tool_call_id) } : line;
  });
}

/** The items of a Responses input, with the calls of one reply gathered into one line as Chat Completions has them. */
function responsesLines(body: Json, refuse: Refuse): Line[] {
  const lines: Line[] = [];
  if (typeof body.instructions === "string")
    lines.push({ role: "system", text: body.instructions, images: 0, calls: [] });
  const assistant = (): Line => {
    const last = lines.at(-1);
    if (last?.role === "assistant") return last;
    const line: Line = { role: "assistant", text: "", images: 0, calls: [] };
    lines.push(line);
    return line;
  };

  const items = list(body.input);
  for (const [index, item] of items.entries()) {
    const at = `input[${index}]`;
    switch ((item.type ?? "message") as ResponseInputItem["type"]) {
      case "message": {
        const content = contentOf(item.content, `${at}.content`, refuse);
        if (content.text === "" && content.images === 0) refuse(`${at}.content: must not be empty`);
        if (item.role === "assistant") assistant().text += content.text;
        else if (item.role === "user") lines.push({ role: "user", ...content, calls: [] });
        else if (item.role === "developer" || item.role === "system")
          lines.push({ role: "system", ...content, calls: [] });
        else refuse(`${at}.role: ${JSON.stringify(item.role)} is not a role`);
        break;
      }
      case "reasoning": {
        const next = items[index + 1];
        const followed = next?.type === "function_call" || next?.type === "reasoning" || next?.role === "assistant";
        if (!followed) refuse(`${at}: a reasoning item without the item that must follow it`);
        if (!Array.isArray(item.summary)) refuse(`${at}.summary: required`);
        if (typeof item.encrypted_content !== "string" && body.store === false) {
          refuse(`${at}: nothing is stored here, so encrypted_content is required`);
        }
        break;
      }
      case "function_call":
        if (typeof item.arguments !== "string") refuse(`${at}.arguments: must be a string`);
        assistant().calls.push({ id: text(item.call_id), tool: text(item.name), arguments: text(item.arguments) });
        break;
      case "function_call_output": {
        const content = contentOf(item.output, `${at}.output`, refuse);
        lines.push({ role: "tool", ...content, calls: [], call: text(item.call_id) });
        break;
      }
      default:
        refuse(`${at}.type: ${JSON.stringify(item.type)} is not known`);
    }
  }
  return lines;
}

function toolNames(wire: Wire, body: Json, refuse: Refuse): string[] {
  if (body.tools === undefined) {
    if (body.tool_choice !== undefined) refuse("tool_choice: only allowed with tools");
    return [];
  }
  const names = list(body.tools).map((tool, index) => {
    const definition = wire === "chat" ? object(tool.function) : tool;
    const name = text(definition.name);
    const schema = object(wire === "messages" ? definition.input_schema : definition.parameters);
    if (wire !== "messages" && tool.type !== "function") refuse(`tools[${index}].type: must be "function"`);
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
      refuse(`tools[${index}].name: ${JSON.stringify(name)} is not a valid name`);
    if (schema.type !== "object") refuse(`tools[${index}]: its parameters must be an object schema`);
    return name;
  });
  if (names.length === 0) refuse("tools: must not be empty");
  if (new Set(names).size < names.length) refuse("tools: names must be unique");
  return names;
}

function checkPairs(lines: readonly Line[], refuse: Refuse): void {
  const seen = new Set<string>();
  let open = new Set<string>();
  for (const line of lines) {
    if (line.role === "tool") {
      if (!open.delete(line.call ?? "")) refuse(`the result ${JSON.stringify(line.call)} answers no call before it`);
      continue;
    }
    if (open.size > 0)
      refuse(`no result directly after the call ${[...open].map((id) => JSON.stringify(id)).join(", ")}`);
    open = new Set();
    for (const { id, tool } of line.calls) {
      if (id === "") refuse("a call has no id");
      if (seen.has(id)) refuse(`two calls have the id ${JSON.stringify(id)}`);
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool)) refuse(`a call's name ${JSON.stringify(tool)} is not valid`);
      seen.add(id);
      open.add(id);
    }
  }
  if (open.size > 0) refuse(`no result for the call ${[...open].map((id) => JSON.stringify(id)).join(", ")}`);
  const last = lines.at(-1)?.role;
  if (last !== "user" && last !== "tool") refuse("the last message must be the user's or a tool's");
}

function contentOf(content: unknown, at: string, refuse: Refuse): { text: string; images: number } {
  if (typeof content === "string") return { text: content, images: 0 };
  if (content === null || content === undefined) return { text: "", images: 0 };
  const parts = list(content);
  const images = parts.filter((part) => part.type === "image_url" || part.type === "input_image");
  for (const image of images) {
    const url = image.type === "image_url" ? object(image.image_url).url : image.image_url;
    if (!/^data:image\/[a-z]+;base64,[A-Za-z0-9+/]+=*$/.test(text(url))) refuse(`${at}: not a data URL of an image`);
  }
  const texts = parts.filter((part) => textParts.has(text(part.type))).map((part) => text(part.text));
  if (texts.length + images.length < parts.length) refuse(`${at}: a part of an unknown type`);
  if (texts.includes("")) refuse(`${at}: a text part must not be empty`);
  return { text: texts.join(""), images: images.length };
}

type PartType = (ChatCompletionContentPart | ResponseInputContent | ResponseOutputText)["type"];

const textParts: ReadonlySet<string> = new Set(["text", "input_text", "output_text"] satisfies PartType[]);

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(object) : [];
}

function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
