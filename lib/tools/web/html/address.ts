import { resolveReference, type WebUrl } from "../url.ts";

const longest = 2048;

/** The address that a page's reference leads to, as text; undefined when that is no other page. */
export function linkAddress(reference: string, base: WebUrl): string | undefined {
  const written = reference.trim().replace(/[\t\n\r]/g, "");
  if (written === "" || written.startsWith("#") || written.length > longest) return undefined;
  const address = resolveReference(written, base);
  if (!/^(?:https?:\/\/|mailto:)/i.test(address)) return undefined;
  return address.replace(/[\s()<>"]/g, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
