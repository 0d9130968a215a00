/**
 * `npm run bench [NAME…]`: measures koda, each figure beside its floor: the least that it could be on this machine.
 * This is a report, not a test: machines differ, so it exits 0 unless a measurement itself fails.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "./measure.ts";

const benches = {
  start: () => import("./start.ts"),
  prompt: () => import("./prompt.ts"),
  answer: () => import("./answer.ts"),
  early: () => import("./early.ts"),
  rounds: () => import("./rounds.ts"),
  deltas: () => import("./deltas.ts"),
  output: () => import("./output.ts"),
  latency: () => import("./latency.ts"),
  typing: () => import("./typing.ts"),
  requests: () => import("./requests.ts"),
  crowd: () => import("./crowd.ts"),
  kills: () => import("./kills.ts"),
  egress: () => import("./egress.ts"),
  sandbox: () => import("./sandbox.ts"),
  snapshot: () => import("./snapshot.ts"),
  search: () => import("./search.ts"),
  sessions: () => import("./sessions.ts"),
  resume: () => import("./resume.ts"),
  turns: () => import("./turns.ts"),
  mcp: () => import("./mcp.ts"),
  acp: () => import("./acp.ts"),
  agents: () => import("./agents.ts"),
  review: () => import("./review.ts"),
  classify: () => import("./classify.ts"),
  fleetwork: () => import("./fleetwork.ts"),
  install: () => import("./install.ts"),
  fleet: () => import("./fleet.ts"),
} satisfies Record<string, () => Promise<{ measure(floors: string): Promise<Figure[]> }>>;

const chosen = process.argv.slice(2);
const names = Object.keys(benches).filter((name) => chosen.length === 0 || chosen.includes(name));

const floors = mkdtempSync(join(tmpdir(), "koda-bench-"));
for (const name of ["empty", "answer", "round", "connects", "sessions", "post"]) await compileFloor(name);

console.log(row(["what", "measured", "floor", "ratio", "bar", ""]));
for (const name of names as (keyof typeof benches)[]) {
  const { measure } = await benches[name]();
  for (const figure of await measure(floors)) console.log(row(cells(figure)));
}
rmSync(floors, { recursive: true, force: true });

async function compileFloor(name: string): Promise<void> {
  await Bun.build({
    entrypoints: [`bench/floor/${name}.ts`],
    minify: true,
    bytecode: true,
    format: "esm",
    compile: { outfile: join(floors, name), autoloadDotenv: false, autoloadBunfig: false },
  });
}

function cells({ what, value, unit, floor, bar, holds }: Figure): string[] {
  const shown = (figure: number) => `${figure < 10 ? figure.toFixed(2) : figure.toFixed(0)} ${unit}`;
  const ratio = floor === undefined || floor === 0 ? "" : `${(value / floor).toFixed(2)} x`;
  return [what, shown(value), floor === undefined ? "" : shown(floor), ratio, bar, holds ? "holds" : "MISSED"];
}

function row(texts: readonly string[]): string {
  const widths = [58, 12, 12, 9, 30, 6];
  return texts
    .map((text, index) => text.padEnd(widths[index] ?? 0))
    .join("  ")
    .trimEnd();
}
