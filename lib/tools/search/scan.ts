import { basename, dirname } from "node:path";
import { errnoOf } from "../../errors.ts";
import type { OpenFile } from "../../files/held.ts";
import {
  byPath,
  type FileLines,
  type FileMatches,
  type GrepResult,
  type GrepLine,
  lineLimit,
  type GrepQuery,
} from "./found.ts";
import { type BadPattern, compilePattern } from "./dialect.ts";
import { globFilter } from "./glob.ts";
import { holdBase, type SearchScope } from "./scope.ts";
import { NotText, piecesOf } from "./text.ts";
import { walkScope } from "./walk.ts";

/** Searches without ripgrep. It blocks, and an expression can make it run for ever: it belongs into a worker. */
export function scan({ scope, pattern, ignoreCase, glob, context, wanted }: GrepQuery): GrepResult | BadPattern {
  const regex = compilePattern(pattern, ignoreCase);
  if (!(regex instanceof RegExp)) return regex;

  let unreadable = 0;
  let missing = wanted;
  const files: FileMatches[] = [];
  const shown: FileLines[] = [];
  using base = holdBase(scope);
  if (base === undefined) return { files, shown, unreadable: 1 };
  for (const path of filesIn(scope, { glob, unreadable: () => unreadable++ })) {
    try {
      // Since it was listed it can have turned into a FIFO or a link: neither is opened.
      using directory = base.descend(dirname(path));
      using file = directory.openFile(basename(path));
      const { count, lines } = scanFile(file, { regex, context, wanted: missing });
      if (count > 0) files.push({ path, count });
      if (lines.length > 0) shown.push({ path, lines });
      missing = Math.max(0, missing - count);
    } catch (error) {
      if (error instanceof NotText) continue;
      if (errnoOf(error) === undefined) throw error;
      unreadable++;
    }
  }
  return { files, shown, unreadable };
}

function filesIn(scope: SearchScope, { glob, unreadable }: { glob: string | undefined; unreadable(): void }): string[] {
  if (scope.file !== undefined) return [scope.file];
  const passes = glob === undefined ? () => true : globFilter(glob, scope);
  return [...walkScope(scope, { unreadable })]
    .filter(({ kind, path }) => kind === "file" && passes(path))
    .sort(byPath)
    .map(({ path }) => path);
}

type Scanning = { regex: RegExp; context: number; wanted: number };

function scanFile(file: OpenFile, { regex, context, wanted }: Scanning): { count: number; lines: GrepLine[] } {
  const lines: GrepLine[] = [];
  let count = 0;
  let before: GrepLine[] = [];
  let after = 0;
  forEachLine(file, (text, number) => {
    if (count >= wanted && after === 0) {
      if (regex.test(text)) count++;
      return;
    }
    const column = regex.exec(text)?.index;
    const line: GrepLine = { number, text: text.slice(0, lineLimit) };
    if (column !== undefined) count++;
    if (column !== undefined && count <= wanted) {
      lines.push(...before, { ...line, column: Math.min(column, lineLimit) });
      before = [];
      after = context;
    } else if (after > 0) {
      lines.push(line);
      after--;
    } else if (context > 0) {
      before.push(line);
      if (before.length > context) before.shift();
    }
  });
  return { count, lines };
}

function forEachLine({ descriptor }: OpenFile, visit: (text: string, number: number) => void): void {
  let number = 0;
  for (const piece of piecesOf(descriptor))
    for (let from = 0; from < piece.length;) {
      const newline = piece.indexOf("\n", from);
      const end = newline === -1 ? piece.length : newline;
      const isCrlf = end > from && piece[end - 1] === "\r";
      visit(piece.slice(from, isCrlf ? end - 1 : end), ++number);
      from = end + 1;
    }
}
