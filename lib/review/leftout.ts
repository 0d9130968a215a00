import { basename } from "node:path";

/** Files that a program has written: reading them tells a reviewer nothing. A new kind is a row. */
const kinds: readonly (readonly [why: string, pattern: RegExp])[] = [
  ["a lock file", /^(?:.+\.lock|.+[.-]lock\.(?:json|yaml)|bun\.lockb|npm-shrinkwrap\.json|go\.sum|gradle\.lockfile)$/i],
  ["generated", /(?:\.min\.(?:js|css|mjs)|\.(?:js|css|mjs)\.map|\.snap|\.pb\.go|_pb2\.py|\.g\.dart)$/i],
];

/** Packages of others that are kept in the repository. */
const vendored = /(?:^|\/)(?:node_modules|vendor|third_party|bower_components)\//;

/** Why the patch of a file is not shown, by its name alone: a mark in the file could hide any change. */
export function whyLeftOut(path: string): string | undefined {
  const [why] = kinds.find(([, pattern]) => pattern.test(basename(path))) ?? [];
  return why ?? (vendored.test(path) ? "code of others" : undefined);
}
