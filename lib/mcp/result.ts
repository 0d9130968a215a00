import { isRecord } from "../config/json.ts";
import { counted } from "../counted.ts";
import type { ImagePart, TextPart } from "../model/message.ts";
import { sniff } from "../tools/magic.ts";
import type { ToolContext, ToolResult } from "../tools/tool.ts";
import { excerptOf } from "../tools/excerpt.ts";
import type { CallToolResult } from "./client.ts";

type Content = CallToolResult["content"][number];

/** A result of a server for the model: structured content before the same as text, and all of its images. */
export function resultOf(result: CallToolResult, context: Pick<ToolContext, "call" | "outputs">): ToolResult {
  const { structuredContent, isError } = result;
  // A server of an older library may send a result without content.
  const content = result.content ?? [];
  const isStructured = structuredContent !== undefined && structuredContent !== null;
  const texts = isStructured ? [JSON.stringify(structuredContent)] : content.map(textOf);
  const { images, note } = firstImages(content.flatMap(imagesOf));
  const said = [...texts, note].filter((text) => text !== "").join("\n");
  const { text, output } = excerptOf(said === "" && images.length === 0 ? "(no output)" : said, context);
  const parts = [...(text === "" ? [] : [{ type: "text" as const, text }]), ...images];
  return { ok: isError !== true, parts, ...(output !== undefined && { output }) };
}

/** Providers take only so many in a conversation, and each costs as much as a long text. */
const mostImages = 10;

function firstImages(all: ImagePart[]): { images: ImagePart[]; note: string } {
  const more = all.length - mostImages;
  return { images: all.slice(0, mostImages), note: more > 0 ? `[${counted(more, "more image")}, not shown]` : "" };
}

/** A part that cannot be shown is named: the model would look for it in vain. */
function textOf(content: Content): TextPart["text"] {
  switch (content.type) {
    case "text":
      return content.text;
    case "image":
      if (imagesOf(content).length > 0) return "";
      return `[an image of the type ${JSON.stringify(content.mimeType)}, not shown]`;
    case "audio":
      return `[audio of the type ${JSON.stringify(content.mimeType)}, not shown]`;
    case "resource_link":
      return `[resource ${JSON.stringify(content.name)}: ${content.uri}]`;
    case "resource": {
      const { resource } = content;
      if ("text" in resource) return resource.text;
      if (imagesOf(content).length > 0) return "";
      return `[${resource.uri}: ${resource.mimeType ?? "binary data"}, not shown]`;
    }
    default:
      return `[content of an unknown type${isRecord(content) ? ` ${JSON.stringify(content)}` : ""}]`;
  }
}

/** An image whose bytes are none would be refused by the model's provider, with the whole conversation. */
function imagesOf(content: Content): ImagePart[] {
  const base64 = content.type === "image" ? content.data : blobIn(content);
  if (base64 === undefined || base64.length > largestImage) return [];
  const seen = sniff(Buffer.from(base64.slice(0, sniffedCharacters), "base64"));
  return seen.type === "image" ? [{ type: "image", mime: seen.mime, base64 }] : [];
}

function blobIn(content: Content): string | undefined {
  return content.type === "resource" && "blob" in content.resource ? content.resource.blob : undefined;
}

const sniffedCharacters = 12_000;

/** 5 MiB as base64, as for images in files. */
const largestImage = Math.ceil((5 * 2 ** 20) / 3) * 4;
