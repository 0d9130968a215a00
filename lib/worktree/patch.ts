import { counted } from "../counted.ts";
import { unlessRefused } from "../errors.ts";
import type { Entry, PresentEntry } from "../files/entry.ts";
import { exactDiffOf } from "../tools/diff.ts";

/** An entry that is not as it was; `path` is relative to the project. */
export type Change = { path: string; before: Entry; after: Entry };

export type WorkDiff = {
  files: readonly FileChange[];
  /** A unified diff of them. */
  patch: string;
  /** Limits that the user should know about. */
  notes: readonly string[];
};

type FileChange = {
  path: string;
  kind: "add" | "update" | "delete";
  /** Null for a file that has no lines, or whose content is not known. */
  added: number | null;
  removed: number | null;
};

export async function diffChanges(changes: AsyncIterable<Change>, limits: { notes: readonly string[] }) {
  const files: FileChange[] = [];
  const patches: string[] = [];
  const leftOut = { patches: 0, large: 0 };
  let patchLength = 0;
  for await (const change of changes) {
    if (isSameToGit(change)) continue;
    const { file, patch } = await describeChange(change);
    files.push(file);
    patchLength += patch.length;
    if (patchLength <= longestPatch) patches.push(patch);
    else leftOut.patches++;
    if ([change.before, change.after].some((entry) => sizeOf(entry) > largestCompared)) leftOut.large++;
  }
  const notes = [...limits.notes];
  if (leftOut.large > 0) notes.push(`Lines are not compared in ${counted(leftOut.large, "changed file")} over 10 MiB`);
  if (leftOut.patches > 0)
    notes.push(`The diff event is cut at 4 MiB and leaves out ${counted(leftOut.patches, "changed file")}`);
  return { files, patch: patches.join(""), notes };
}

const longestPatch = 4 * 1024 * 1024;
const largestCompared = 10 * 1024 * 1024;

/** Only permissions changed of which git keeps no account. */
export function isSameToGit({ before, after }: Change): boolean {
  if (before.kind === "missing" || after.kind === "missing" || before.mode === after.mode) return false;
  if (gitModeOf(before) !== gitModeOf(after)) return false;
  const [old, now] = [bytesOf(before), bytesOf(after)];
  return old !== undefined && now !== undefined && Buffer.compare(old, now) === 0;
}

export function sizeOf(entry: Entry): number {
  return entry.kind === "missing" ? 0 : (entry.content?.length ?? entry.signature?.size ?? 0);
}

function bytesOf({ content }: PresentEntry): Uint8Array | undefined {
  return content && unlessRefused(() => content.read());
}

/** One file's part of a patch, as git writes it, and what it comes to. */
async function describeChange(change: Change): Promise<{ file: FileChange; patch: string }> {
  const { path, before, after } = change;
  const kind = before.kind === "missing" ? "add" : after.kind === "missing" ? "delete" : "update";
  // A file that became a symlink is one file gone and another one made.
  const parts =
    kind === "update" && before.kind !== after.kind
      ? [await partOf({ path, before, after: nothing }), await partOf({ path, before: nothing, after })]
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

export const nothing: Entry = { kind: "missing" };

type Part = { added: number | null; removed: number | null; patch: string };

async function partOf({ path, before, after }: Change): Promise<Part> {
  const [from, to] = [quotedName(`a/${path}`), quotedName(`b/${path}`)];
  const head = [`diff --git ${from} ${to}\n`, ...modeLines(before, after)].join("");
  const [old, now] = [textOf(before), textOf(after)];
  const names = {
    from: before.kind === "missing" ? "/dev/null" : from,
    to: after.kind === "missing" ? "/dev/null" : to,
  };
  if (old === undefined || now === undefined) {
    return { added: null, removed: null, patch: `${head}Binary files ${names.from} and ${names.to} differ\n` };
  }
  if (old === now) return { added: 0, removed: 0, patch: head };
  const diff = old === "" || now === "" ? undefined : await exactDiffOf(old, now);
  const { hunks, added, removed } = diff ?? replacement(old, now);
  return { added, removed, patch: `${head}--- ${names.from}\n+++ ${names.to}\n${hunks.join("\n")}\n` };
}

export function modeLines(before: Entry, after: Entry): string[] {
  if (before.kind === "missing") return after.kind === "missing" ? [] : [`new file mode ${gitModeOf(after)}\n`];
  if (after.kind === "missing") return [`deleted file mode ${gitModeOf(before)}\n`];
  const [old, now] = [gitModeOf(before), gitModeOf(after)];
  return old === now ? [] : [`old mode ${old}\n`, `new mode ${now}\n`];
}

export function gitModeOf({ kind, mode }: PresentEntry): string {
  if (kind === "symlink") return "120000";
  return (mode & 0o100) === 0 ? "100644" : "100755";
}

/** No file has no text; a binary one, a large one, or one that is not known, has none that could be shown. */
function textOf(entry: Entry): string | undefined {
  if (entry.kind === "missing") return "";
  const bytes = sizeOf(entry) > largestCompared ? undefined : bytesOf(entry);
  if (bytes === undefined || bytes.subarray(0, 8000).includes(0)) return undefined;
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** All old lines against all new ones: where only one side has some, or a shorter way takes too long to find. */
export function replacement(old: string, now: string) {
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
export function quotedName(name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (!/["\\\x00-\x1f\x7f]/.test(name)) return name;
  const escapes: Record<string, string> = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t" };
  // oxlint-disable-next-line no-control-regex -- as above
  const escaped = name.replace(/["\\\x00-\x1f\x7f]/g, (character) => {
    return escapes[character] ?? `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`;
  });
  return `"${escaped}"`;
}
