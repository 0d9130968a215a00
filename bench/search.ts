import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binary } from "../test/support/koda.ts";
import { addSessions } from "./bulk.ts";
import { cost, type Figure, interleaved, median } from "./measure.ts";

const size = { sessions: 1000, items: 1000 };
const rounds = 7;

/** A word of half the texts, some words, a name, a part of words, CJK, a question, and nothing that is there. */
const queries = [
  "const",
  "session database",
  "parseConfig",
  "lib/config/load.ts",
  "onfigurat",
  "数据库",
  "設定",
  "what did we say about the order of migrations",
  "zzyzx",
];

/** Searches of all sessions, by the command; the floor asks the same index for the newest 20 texts with a word. */
export async function measure(floors: string): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), "koda-bench-search-"));
  const path = join(home, "koda.db");
  const env = { ...process.env, KODA_HOME: home } as Record<string, string>;
  const search = (query: string) => cost([binary, "session", "search", query], { env });
  const floor = (way: string, word = "") => cost([join(floors, "sessions"), way, path, word]);
  try {
    addSessions(path, size);
    const first = await search("koda");
    return [
      { what: "first search of 1,000,000 items", value: first.wallMs / 1000, unit: "s", bar: "none", holds: true },
      ...(await warm(search, floor)),
      await afterNew(path, { search, floor }),
    ];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

type Cost = ReturnType<typeof cost>;
type Search = (query: string) => Cost;
type Floor = (way: string, word?: string) => Cost;

async function warm(search: Search, floor: Floor): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const query of queries) {
    const word = query.split(" ")[0] ?? "";
    const [ours = [], least = []] = await interleaved(
      rounds,
      () => search(query),
      () => floor("search", word),
    );
    const value = wallOf(ours);
    const what = `search "${query}" in 1,000,000 items`;
    figures.push({ what, value, unit: "ms", floor: wallOf(least), bar: "≤ 100 ms", holds: value <= 100 });
  }
  return figures;
}

async function afterNew(path: string, { search, floor }: { search: Search; floor: Floor }): Promise<Figure> {
  const ours: Awaited<Cost>[] = [];
  const least: Awaited<Cost>[] = [];
  for (let round = 0; round < 5; round++) {
    addSessions(path, { sessions: 10, items: 1000, first: size.sessions + round * 10 });
    ours.push(await search("session"));
    least.push(await floor("index"));
  }
  const value = wallOf(ours);
  const what = "first search after 10,000 new items";
  return { what, value, unit: "ms", floor: wallOf(least), bar: "≤ 300 ms", holds: value <= 300 };
}

function wallOf(costs: readonly Awaited<Cost>[]): number {
  return median(costs.map(({ wallMs }) => wallMs));
}
