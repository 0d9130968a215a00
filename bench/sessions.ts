import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binary } from "../test/support/koda.ts";
import { addSessions } from "./bulk.ts";
import { cost, type Figure, interleaved, median } from "./measure.ts";

const rounds = 5;
/** A koda without a session takes about 50 MB. */
const mostMb = 120;

/** Lists of 10,000 sessions, and documents of 100,000 items; the floor prints the same rows. */
export async function measure(floors: string): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), "koda-bench-sessions-"));
  const [many, long] = [join(home, "many"), join(home, "long")];
  const floor = (way: string, directory: string) => [join(floors, "sessions"), way, join(directory, "koda.db")];
  try {
    addSessions(join(many, "koda.db"), { sessions: 10_000, items: 20 });
    addSessions(join(long, "koda.db"), { sessions: 1, items: 100_000 });
    const figures = [
      await time(["list"], many, { floor: floor("list", many), mostMs: 100 }),
      await time(["list", "--json"], many, { floor: floor("list", many), mostMs: 200 }),
    ];
    for (const args of documents) {
      figures.push(await time(args, long, { floor: floor("log", long), mostMs: 3_000 }));
      figures.push(await memory(args, long));
    }
    return figures;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const id = "bulk-000000";
const documents = [
  ["show", id],
  ["show", id, "--json"],
  ...["markdown", "html", "jsonl", "atif"].map((format) => ["export", id, "--format", format]),
];

async function time(
  args: readonly string[],
  home: string,
  { floor, mostMs }: { floor: readonly string[]; mostMs: number },
): Promise<Figure> {
  const [ours = [], least = []] = await interleaved(
    rounds,
    () => cost([binary, "session", ...args], { env: environment(home), keep: false }),
    () => cost(floor, { keep: false }),
  );
  const value = median(ours.map(({ wallMs }) => wallMs));
  const floorMs = median(least.map(({ wallMs }) => wallMs));
  const bar = `≤ ${mostMs} ms`;
  return { what: nameOf(args), value, unit: "ms", floor: floorMs, bar, holds: value <= mostMs };
}

async function memory(args: readonly string[], home: string): Promise<Figure> {
  const { peakMb } = await cost([binary, "session", ...args], { env: environment(home), keep: false, peak: true });
  return { what: `${nameOf(args)}, peak`, value: peakMb, unit: "MB", bar: `≤ ${mostMb} MB`, holds: peakMb <= mostMb };
}

function environment(home: string): Record<string, string> {
  return { ...process.env, KODA_HOME: home } as Record<string, string>;
}

function nameOf([command = "", ...args]: readonly string[]): string {
  const size = command === "list" ? "10,000 sessions" : "100,000 items";
  return [command, ...args.filter((arg) => arg !== id)].join(" ") + ` of ${size}`;
}
