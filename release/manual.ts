import { commandPage, pageName, topics } from "./manual/commandpage.ts";
import { configPage } from "./manual/configpage.ts";
import type { Stamp } from "./manual/roff.ts";

/** The manual pages by their paths below `share`. */
export function manualPages(stamp: Stamp): ReadonlyMap<string, string> {
  const pages = topics.map((topic) => [`man/man1/${pageName(topic)}.1`, commandPage(topic, stamp)] as const);
  return new Map([...pages, ["man/man5/koda-config.5", configPage(stamp)]]);
}
