import { STATUS_CODES } from "node:http";
import { counted } from "../../counted.ts";
import type { ToolContext, ToolResult } from "../tool.ts";
import { failed } from "../tool.ts";
import { decodeText, type Decoded } from "./charset.ts";
import { excerptOf } from "../excerpt.ts";
import type { FetchedPage } from "./fetch.ts";
import { mediaOf } from "./media.ts";
import { formatUrl } from "./url.ts";

type Presentation = Pick<ToolContext, "call" | "outputs"> & { raw: boolean };

/** Describes a page for the model. One that its server reports as an error is an error here too, with its text. */
export async function present(page: FetchedPage, context: Presentation): Promise<ToolResult> {
  const media = mediaOf(page.type, page.bytes);
  const heading = headingOf(page);
  const ok = page.status < 400;
  switch (media.kind) {
    case "image":
      return image(page, media.mime, heading);
    case "binary":
      return failed(`${heading}\nIt is ${media.name}, and only text and images can be shown.`);
    case "html":
    case "text": {
      const decoded = decodeText(page.bytes, { charset: media.charset, isCut: page.cut !== undefined });
      const readable = media.kind === "html" && !context.raw ? await readableText(page, decoded) : decoded;
      const notes = [
        page.cut && `Not all of it: ${page.cut}.`,
        decoded.note && `Note: ${decoded.note}.`,
        readable.note,
      ];
      const lines = notes.filter((note) => note !== undefined).map((note) => `[${note}]`);
      const { text, output } = excerptOf(readable.text, context);
      const parts = [{ type: "text" as const, text: [heading, ...lines, "", text].join("\n").trimEnd() }];
      return { ok, parts, ...(output !== undefined && { output }) };
    }
    default:
      return media satisfies never;
  }
}

/** The server's own words for its status could say anything. */
function headingOf({ url, status, type, bytes }: FetchedPage): string {
  const kind = (type ?? "no type").replace(/[^ -~]/g, "?").slice(0, 100);
  return [`${status} ${STATUS_CODES[status] ?? ""}`.trim(), formatUrl(url), kind, counted(bytes.length, "byte")].join(
    " | ",
  );
}

function image({ bytes, cut, status }: FetchedPage, mime: string, heading: string): ToolResult {
  if (cut !== undefined) return failed(`${heading}\nThe image cannot be shown: ${cut}.`);
  const part = { type: "image" as const, mime, base64: bytes.toString("base64") };
  return { ok: status < 400, parts: [{ type: "text", text: heading }, part] };
}

async function readableText({ url }: FetchedPage, { text: html }: Decoded): Promise<Decoded> {
  const { htmlToText } = await import("./html/text.ts");
  const { title, text, isCut } = htmlToText({ html, url });
  const heading = title === "" ? "" : `Title: ${title}\n\n`;
  return { text: heading + text, note: missingNote(text, isCut) };
}

function missingNote(text: string, isCut: boolean): string | undefined {
  if (text === "") return "The page has no text of its own, it may be made by a script: raw shows its source.";
  return isCut ? "Its text is many times as long as its source; the rest was left out." : undefined;
}
