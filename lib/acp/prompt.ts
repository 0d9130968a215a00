import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { NewSubmission } from "../chat/submitter.ts";
import { KodaError } from "../errors.ts";
import { sniff } from "../tools/magic.ts";

type Input = Extract<NewSubmission, { op: "input" }>;
type Part = NonNullable<Input["parts"]>[number];

/** A client's prompt as input. Text that an editor has cut at its mentions of files is one text again. */
export function promptInput(blocks: readonly ContentBlock[]): Input {
  const parts: Part[] = [];
  for (const block of blocks) {
    const part = partOf(block);
    const last = parts.at(-1);
    if (part.type === "text" && last?.type === "text") last.text += part.text;
    else parts.push(part);
  }
  if (parts.every((part) => part.type === "text" && part.text.trim() === ""))
    throw new KodaError("usage", "Cannot accept an empty prompt: expected text or an image");
  const [first] = parts;
  // Only a text can be the name of a prompt: `/review the parser`.
  return first?.type === "text" && parts.length === 1 ? { op: "input", text: first.text } : { op: "input", parts };
}

function partOf(block: ContentBlock): Part {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      return imageOf(block.data);
    case "resource_link":
      return { type: "text", text: `[${block.name}](${block.uri})` };
    case "resource": {
      const { resource } = block;
      if ("text" in resource)
        return {
          type: "text",
          text: `\n<resource uri=${JSON.stringify(resource.uri)}>\n${resource.text}\n</resource>\n`,
        };
      if (resource.mimeType?.startsWith("image/") === true) return imageOf(resource.blob);
      throw new KodaError("usage", `Cannot read "${resource.uri}": expected text or an image, not other bytes`);
    }
    default:
      throw new KodaError("usage", `Cannot accept a prompt with ${block.type}: expected text, images and resources`);
  }
}

/** A session that has an image which the provider refuses could not go on. */
function imageOf(base64: string): Part {
  const content = sniff(Buffer.from(base64, "base64"));
  if (content.type === "image") return { type: "image", mime: content.mime, base64 };
  throw new KodaError("usage", "Cannot use an image of the prompt: expected a PNG, JPEG, GIF or WebP image");
}
