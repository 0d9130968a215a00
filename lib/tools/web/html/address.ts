import { resolveReference, type WebUrl } from "../url.ts";

const longest = 2048;

/** Where a reference of a page leads, as it can stand in a text; undefined for what leads to no other page. */
export function linkAddress(reference: string, base: WebUrl): string | undefined {
  const written = reference.trim().replace(/[\t\n\r]/g, "");
  if (written === "" || written.startsWith("#") || written.length > longest) return undefined;
  const address = resolveReference(written, base);
  if (!/^(?:https?:\/\/|mailto:)/i.test(address)) return undefined;
  return address.replace(/[\s()<>"]/g, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
