import { exactDiffOf } from "../tools/diff.ts";
import type { Mode, Version } from "./version.ts";

/** A file that is not as it was; one that is not there has no version. */
export type Change = { path: string; before: Version | undefined; after: Version | undefined };

export type FileChange = {
  path: string;
  kind: "add" | "update" | "delete";
  /** Null for a file that has no lines, or whose content is not known. */
  added: number | null;
  removed: number | null;
};

/** One file's part of a patch, as git writes it, and what it comes to. */
export async function describeChange(change: Change): Promise<{ file: FileChange; patch: string }> {
  const { path, before, after } = change;
  const kind = before === undefined ? "add" : after === undefined ? "delete" : "update";
  const changesType = before !== undefined && after !== undefined && isLink(before) !== isLink(after);
  // A file that became a symlink is one file gone and another one made.
  const parts = changesType
    ? [await partOf({ path, before, after: undefined }), await partOf({ path, before: undefined, after })]
    : [await partOf(change)];
  const sum = (counts: readonly (number | null)[]) =>
    counts.reduce((total, count) => (total === null || count === null ? null : total + count), 0);
  return {
    file: {
      path,
      kind,
      added: sum(parts.map(({ added }) => added)),
      removed: sum(parts.map(({ removed }) => removed)),
    },
    patch: parts.map(({ patch }) => patch).join(""),
  };
}

type Part = { added: number | null; removed: number | null; patch: string };

async function partOf({ path, before, after }: Change): Promise<Part> {
  const [from, to] = [quoted(`a/${path}`), quoted(`b/${path}`)];
  const head = [`diff --git ${from} ${to}\n`, ...modeLines(before?.mode, after?.mode)].join("");
  const [old, now] = [textOf(before), textOf(after)];
  const names = { from: before === undefined ? "/dev/null" : from, to: after === undefined ? "/dev/null" : to };
  if (old === undefined || now === undefined) {
    return { added: null, removed: null, patch: `${head}Binary files ${names.from} and ${names.to} differ\n` };
  }
  if (old === now) return { added: 0, removed: 0, patch: head };
  const diff = old === "" || now === "" ? undefined : await exactDiffOf(old, now);
  const { hunks, added, removed } = diff ?? replacement(old, now);
  return { added, removed, patch: `${head}--- ${names.from}\n+++ ${names.to}\n${hunks.join("\n")}\n` };
}

function modeLines(before: Mode | undefined, after: Mode | undefined): string[] {
  if (before === undefined) return [`new file mode ${after}\n`];
  if (after === undefined) return [`deleted file mode ${before}\n`];
  return before === after ? [] : [`old mode ${before}\n`, `new mode ${after}\n`];
}

function isLink({ mode }: Version): boolean {
  return mode === "120000";
}

/** No file has no text; a binary one, or one that is not known, has none that could be shown. */
function textOf(version: Version | undefined): string | undefined {
  if (version === undefined) return "";
  const { bytes } = version;
  if (bytes === undefined || bytes.subarray(0, 8000).includes(0)) return undefined;
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** All of the old lines against all of the new ones: where there are only some, or a shorter way takes too long to find. */
function replacement(old: string, now: string) {
  const [removed, added] = [linesOf(old), linesOf(now)];
  const range = (lines: readonly string[]) => `${lines.length === 0 ? 0 : 1},${lines.length}`;
  const marked = (lines: readonly string[], mark: string, text: string) => [
    ...lines.map((line) => mark + line),
    ...(text === "" || text.endsWith("\n") ? [] : ["\\ No newline at end of file"]),
  ];
  const hunks = [`@@ -${range(removed)} +${range(added)} @@`, ...marked(removed, "-", old), ...marked(added, "+", now)];
  return { hunks, added: added.length, removed: removed.length };
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** git quotes names that would be misread in a patch. */
function quoted(name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (!/["\\\x00-\x1f\x7f]/.test(name)) return name;
  const escapes: Record<string, string> = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t" };
  // oxlint-disable-next-line no-control-regex -- as above
  const escaped = name.replace(/["\\\x00-\x1f\x7f]/g, (character) => {
    return escapes[character] ?? `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`;
  });
  return `"${escaped}"`;
}
