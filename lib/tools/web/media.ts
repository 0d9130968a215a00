import { sniff } from "../magic.ts";

/** The type of a body, by its Content-Type and by its first bytes. */
type Media =
  | { kind: "html" | "text"; charset: string | undefined }
  | { kind: "image"; mime: string }
  /** `name`: in words. */
  | { kind: "binary"; name: string };

export function mediaOf(type: string | undefined, bytes: Uint8Array): Media {
  const [given = "", ...parameters] = (type ?? "").split(";");
  const essence = given.trim().toLowerCase();
  const charset = charsetIn(parameters.join(";"));
  const seen = sniff(bytes);
  // An image by its type alone would be refused by the model's provider, together with the whole conversation.
  if (seen.type === "image") return { kind: "image", mime: seen.mime };
  const isWide = /^utf-?(16|32)/i.test(charset ?? "") || hasMark(bytes);
  if (seen.type === "binary" && !isWide) return { kind: "binary", name: seen.name };
  if (isHtml(essence, bytes)) return { kind: "html", charset };
  if (isText(essence)) return { kind: "text", charset };
  return { kind: "binary", name: `of the type ${JSON.stringify(essence)}` };
}

function charsetIn(parameters: string): string | undefined {
  return /(?:^|;)\s*charset\s*=\s*["']?\s*([^"';\s]+)/i.exec(parameters)?.[1];
}

function hasMark([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

function isHtml(essence: string, bytes: Uint8Array): boolean {
  if (essence !== "") return essence === "text/html" || essence === "application/xhtml+xml";
  const head = Buffer.from(bytes.subarray(0, 512)).toString("latin1");
  return /^\s*(?:<!doctype html|<html|<head|<body)[\s>]/i.test(head);
}

/** Nothing in its bytes says otherwise. A download of an unknown kind may be a script as well as a program. */
function isText(essence: string): boolean {
  return !/^(?:image\/(?!svg\+xml$)|audio\/|video\/|font\/|application\/(?:pdf|zip|gzip|wasm)$)/.test(essence);
}
