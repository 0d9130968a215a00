/**
 * `npm run size [-- --write]`: the parts of this machine's binary. `--write` puts them into docs/release.md, with what
 * they weigh in an archive, which takes minutes to find out.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile, type Modules } from "../release/compile.ts";
import { compress } from "../release/compress.ts";
import { bunOf, ripgrepOf } from "../release/programs.ts";
import { hostTarget, type Target } from "../release/targets.ts";

/** A part of the binary; `packed` is its size in an archive, where that was measured. */
export type Part = { name: string; bytes: number; packed?: number };

export const page = "docs/release.md";

/** The binary, its parts, which add up to it, and the source maps, which a release has in an archive of their own. */
export async function measureParts(target: Target, isPacked = false): Promise<readonly Part[]> {
  const scratch = mkdtempSync(join(tmpdir(), "koda-size-"));
  try {
    const outfile = join(scratch, "koda");
    await compile({ outfile, target, maps: "inside" });
    const withMaps = readFileSync(outfile);
    const modules = await compile({ outfile, target, maps: "none" });
    const measure = async (name: string, content: Uint8Array) =>
      isPacked
        ? { name, bytes: content.length, packed: (await compress(content, "tar.xz", target)).length }
        : { name, bytes: content.length };
    const binary = readFileSync(outfile);
    const whole = await measure("the binary", binary);
    const bun = await measure("Bun", readFileSync(bunOf(target).path));
    const ripgrep = await measure("ripgrep", readFileSync(ripgrepOf(target).path));
    const [own, libraries] = codeSizes(modules);
    const rest = whole.bytes - bun.bytes - ripgrep.bytes - own - libraries;
    return [
      whole,
      bun,
      ripgrep,
      { name: "koda's own code and texts", bytes: own },
      { name: "libraries", bytes: libraries },
      { name: "bytecode of both, and padding", bytes: rest },
      { name: "source maps, in no release", bytes: withMaps.length - binary.length },
    ];
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Minified: koda's own, and that of libraries. */
function codeSizes(modules: Modules): [number, number] {
  const sizes: [number, number] = [0, 0];
  for (const [path, bytes] of modules) sizes[path.includes("node_modules/") ? 1 : 0] += bytes;
  return sizes;
}

/** The table of the page. */
export function tableOfParts(parts: readonly Part[]): string {
  const cells = parts.map(({ name, bytes, packed }) => [
    name,
    megabytes(bytes),
    packed === undefined ? "" : megabytes(packed),
  ]);
  const rows = [["part", "MB", "packed, MB"], ...cells];
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const [head = "", ...lines] = rows.map(
    (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`,
  );
  return [head, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...lines].join("\n");
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

if (import.meta.main) {
  const isWritten = process.argv[2] === "--write";
  const target = hostTarget();
  if (target === undefined) throw new Error(`koda does not run on ${process.platform}-${process.arch}`);
  const table = tableOfParts(await measureParts(target, isWritten));
  console.log(table);
  if (isWritten) writeFileSync(page, readFileSync(page, "utf8").replace(/\| part [\s\S]*?\n\n/, `${table}\n\n`));
}
