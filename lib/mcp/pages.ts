import type { RequestOptions } from "./client.ts";

/** A list of a server, and how far it was read where it has more: "beyond the first 512". */
export type ServerList<T> = { readonly entries: readonly T[]; readonly unread?: string };

/** The parameters of the request for a page: none for the first. */
export type PageParams = { params?: { cursor: string } };

type Page<T> = { entries: readonly T[]; nextCursor?: string | undefined };

type Reading<T, Kept> = {
  readPage: (params: PageParams, options: RequestOptions) => Promise<Page<T>>;
  /** Makes of each entry what is held of it; undefined leaves it out. */
  keep: (entry: T) => Kept | undefined;
};

/**
 * Reads a list page by page, no further than koda can use it: there may be another page after each, and the library
 * would hold all of them.
 */
export async function readPages<T, Kept>(
  { readPage, keep }: Reading<T, Kept>,
  options: RequestOptions & { timeout: number },
): Promise<ServerList<Kept>> {
  const deadline = performance.now() + options.timeout;
  const entries: Kept[] = [];
  let [characters, pages] = [0, 0];
  let cursor: string | undefined;
  const limit = () => {
    if (entries.length >= mostEntries) return `${entries.length}`;
    if (characters >= mostCharacters) return `${mostCharacters / 2 ** 20} MiB of its list`;
    if (pages >= mostPages) return `${mostPages} pages of its list`;
    return performance.now() < deadline ? undefined : `${options.timeout / 1000} s of its list`;
  };
  while (true) {
    const page = await readPage(cursor === undefined ? {} : { params: { cursor } }, options);
    pages++;
    for (const entry of page.entries) {
      characters += charactersIn(entry);
      const kept = keep(entry);
      if (kept !== undefined) entries.push(kept);
    }
    const { nextCursor } = page;
    // A server that knows no pages repeats the only one.
    if (nextCursor === undefined || nextCursor === cursor) return { entries };
    const reached = limit();
    if (reached !== undefined) return { entries, unread: `beyond the first ${reached}` };
    cursor = nextCursor;
  }
}

/** More tools than a provider takes. */
export const mostEntries = 512;
/** The last page may be as long as a message beside these. */
const mostCharacters = 4 * 2 ** 20;
const mostPages = 512;

/** The characters of all texts in a value, and one for each part of it: to write it as JSON would double a long one. */
export function charactersIn(value: unknown): number {
  let size = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    size += typeof next === "string" ? next.length : 1;
    if (typeof next === "object" && next !== null)
      for (const [key, inner] of Object.entries(next)) {
        size += key.length;
        waiting.push(inner);
      }
  }
  return size;
}
