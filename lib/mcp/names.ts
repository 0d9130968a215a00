/** `server__tool`, with characters that every provider takes. */
export function toolName(server: string, tool: string): string {
  const name = `${server}__${tool}`;
  const clean = name.replace(/[^A-Za-z0-9_-]/g, "_");
  return clean === name && name.length <= longestName ? name : marked(clean, name);
}

/** A name that was changed is marked, so that no two names become one. */
function marked(clean: string, name: string): string {
  const mark = Bun.hash.crc32(name).toString(16).padStart(8, "0");
  return `${clean.slice(0, longestName - mark.length - 1)}_${mark}`;
}

/** The providers' limit. */
const longestName = 64;
