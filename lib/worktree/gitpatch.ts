import { unlessRefused } from "../errors.ts";
import { largestCopy } from "../files/copies.ts";
import type { Entry } from "../files/entry.ts";
import { exactDiffOf } from "../tools/diff.ts";
import { visibleLine } from "../visible.ts";
import { binaryLiteral } from "./gitbinary.ts";
import { type Change, gitModeOf, isSameToGit, modeLines, nothing, quotedName, replacement, sizeOf } from "./patch.ts";
import type { PatchPlace } from "./repository.ts";

/** A patch for `git apply`, and the changes that it lacks, each with the reason. */
export type GitPatch = { bytes: Uint8Array; lacks: readonly string[] };

const longestPatch = 512 * 1024 * 1024;
const tooLong = "with it the patch would be larger than 512 MiB";
/** Larger texts are written as binary files are. */
const largestText = 16 * 1024 * 1024;

/** Every change, byte by byte: unlike the one in the `diff` event, this patch is made to be applied. */
export async function gitPatchOf(changes: AsyncIterable<Change>, place: PatchPlace): Promise<GitPatch> {
  const parts: Uint8Array[] = [];
  const lacks: string[] = [];
  let length = 0;
  for await (const change of changes) {
    if (isSameToGit(change)) continue;
    const made = await patchOf(change, place);
    const patch = typeof made !== "string" && length + made.length > longestPatch ? tooLong : made;
    if (typeof patch === "string") {
      lacks.push(`"${visibleLine(change.path)}": ${patch}`);
      continue;
    }
    parts.push(patch);
    length += patch.length;
  }
  return { bytes: Buffer.concat(parts), lacks };
}

/** One file's part of the patch, or the reason why there is none. */
async function patchOf({ path, before, after }: Change, { prefix, hash }: PatchPlace): Promise<Uint8Array | string> {
  const [old, now] = [contentOf(before), contentOf(after)];
  if (typeof old === "string") return old;
  if (typeof now === "string") return now;
  const part = { path: prefix + path, before, after, old, now, hash };
  if (before.kind === "missing" || after.kind === "missing" || before.kind === after.kind) return await partOf(part);
  // A file that became a symlink is one file gone and another one made.
  const gone = await partOf({ ...part, after: nothing, now: none });
  return Buffer.concat([gone, await partOf({ ...part, before: nothing, old: none })]);
}

const none = new Uint8Array();

/** The content of a file, the target of a symlink, or the reason why it is not known. */
function contentOf(entry: Entry): Uint8Array | string {
  if (entry.kind === "missing") return none;
  if (sizeOf(entry) > largestCopy) return "larger than 64 MiB";
  const { content } = entry;
  if (content === undefined) return "its content before the run is not known";
  return unlessRefused(() => content.read()) ?? "it cannot be read";
}

type Part = Change & { old: Uint8Array; now: Uint8Array; hash: PatchPlace["hash"] };

async function partOf({ path, before, after, old, now, hash }: Part): Promise<Uint8Array> {
  const [from, to] = [quotedName(`a/${path}`), quotedName(`b/${path}`)];
  const head = `diff --git ${from} ${to}\n${modeLines(before, after).join("")}`;
  const isUpdate = before.kind !== "missing" && after.kind !== "missing";
  if (isUpdate && Buffer.compare(old, now) === 0) return Buffer.from(head);

  const mode = isUpdate && gitModeOf(before) === gitModeOf(after) ? ` ${gitModeOf(after)}` : "";
  const index = `index ${idOf(before, old, hash)}..${idOf(after, now, hash)}${mode}\n`;
  if (isBinary(old) || isBinary(now))
    return Buffer.concat([Buffer.from(`${head}${index}GIT binary patch\n`), binaryLiteral(now), binaryLiteral(old)]);
  if (old.length === 0 && now.length === 0) return Buffer.from(head + index);

  const names = `--- ${nameLine(from, before)}\n+++ ${nameLine(to, after)}\n`;
  return Buffer.concat([Buffer.from(head + index + names), await hunksOf(old, now)]);
}

/** git needs the ids of binary files, which it checks, and has use for those of others (`git apply --3way`). */
function idOf(entry: Entry, content: Uint8Array, hash: PatchPlace["hash"]): string {
  if (entry.kind === "missing") return "0".repeat(hash === "sha1" ? 40 : 64);
  return new Bun.CryptoHasher(hash).update(`blob ${content.length}\0`).update(content).digest("hex");
}

function isBinary(content: Uint8Array): boolean {
  return content.length > largestText || content.includes(0);
}

/** A tab says that a name with spaces ends here. */
function nameLine(name: string, { kind }: Entry): string {
  if (kind === "missing") return "/dev/null";
  return name.includes(" ") && !name.startsWith('"') ? `${name}\t` : name;
}

/** Of any encoding: each byte is a character for as long as lines are compared. */
async function hunksOf(old: Uint8Array, now: Uint8Array): Promise<Uint8Array> {
  const [before, after] = [Buffer.from(old).toString("latin1"), Buffer.from(now).toString("latin1")];
  const diff = before === "" || after === "" ? undefined : await exactDiffOf(before, after);
  const { hunks } = diff ?? replacement(before, after);
  return Buffer.from(`${hunks.join("\n")}\n`, "latin1");
}
