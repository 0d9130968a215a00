import { KodaError } from "../lib/errors.ts";
import type { ImagePart } from "../lib/model/message.ts";
import { sniff } from "../lib/tools/magic.ts";
import { readNamedFile } from "./promptfile.ts";

/** The images of `-i`, in order. Their type is taken from their first bytes, not from their names. */
export async function readImages(paths: readonly string[], signal: AbortSignal): Promise<ImagePart[]> {
  return await Promise.all(paths.map((path) => readImage(path, signal)));
}

async function readImage(path: string, signal: AbortSignal): Promise<ImagePart> {
  const name = `image "${path}"`;
  const bytes = await readNamedFile(path, { name, limit: 20_000_000, limitName: "20 MB" }, signal);
  const content = sniff(bytes);
  if (content.type === "image") {
    const image = Buffer.from(bytes);
    if (isTruncated(content.mime, image)) throw new KodaError("usage", `Cannot use ${name}: it is truncated`);
    return { type: "image", mime: content.mime, base64: image.toString("base64") };
  }
  const type = bytes.length === 0 ? "empty" : content.type === "text" ? "text" : content.name;
  throw new KodaError("usage", `Cannot use ${name}: it is ${type}, expected a PNG, JPEG, GIF or WebP image`);
}

/** The end markers of formats that have one. Cameras and editors may append data. */
const endings: Readonly<Record<string, Buffer>> = {
  "image/png": Buffer.from("IEND"),
  "image/jpeg": Buffer.from([0xff, 0xd9]),
};

/** True for an incomplete download, which a provider would refuse without naming the file. */
function isTruncated(mime: string, image: Buffer): boolean {
  const ending = endings[mime];
  return ending !== undefined && !image.includes(ending);
}
