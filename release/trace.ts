/**
 * `npm run trace -- DIRECTORY < trace`: names the source lines of a trace that a released binary has printed. DIRECTORY
 * is that of the binary's target in the release's `koda-VERSION-sourcemaps.tar.xz`.
 */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { join } from "node:path";

const [directory, ...rest] = process.argv.slice(2);
if (directory === undefined || rest.length > 0) throw new Error("Expected one directory with source maps");

const trace = await Bun.stdin.text();
process.stdout.write(
  trace.replace(
    /\/\$bunfs\/root\/([^\s:)]+):(\d+):(\d+)/g,
    (place, file: string, line: string, column: string) =>
      sourceOf(join(directory, `${file}.map`), Number(line), Number(column)) ?? place,
  ),
);

function sourceOf(map: string, line: number, column: number): string | undefined {
  if (!existsSync(map)) return undefined;
  const entry = new SourceMap(JSON.parse(readFileSync(map, "utf8"))).findEntry(line - 1, column - 1);
  if (!("originalSource" in entry)) return undefined;
  return `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}
