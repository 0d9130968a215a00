import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Copies } from "../files/copies.ts";
import type { Entry } from "../files/entry.ts";
import { HeldDirectory } from "../files/held.ts";
import { putFile } from "../files/save.ts";
import type { Change } from "./patch.ts";
import type { Past } from "./past.ts";

/*
 * The stored form of a snapshot: the entries that were changed in its time, and their contents in one file. It needs
 * neither the repository's objects, which git may prune, nor the run's own directory.
 */

const row = z.strictObject({
  path: z.string(),
  kind: z.enum(["missing", "file", "symlink"]),
  mode: z.number().optional(),
  content: z.strictObject({ offset: z.number(), length: z.number() }).optional(),
});

const manifest = z.strictObject({ takenAtMs: z.number(), entries: z.array(row) });

type Row = z.infer<typeof row>;
const names = { contents: "contents", manifest: "manifest.json" };

/** Passes changes on, and stores what was there before them. The manifest comes last: without it there is nothing. */
export async function* storeAlong(
  changes: AsyncIterable<Change>,
  directory: string,
  { takenAtMs }: Past,
): AsyncGenerator<Change> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  using copies = new Copies(join(directory, names.contents));
  const entries: Row[] = [];
  for await (const change of changes) {
    entries.push(rowOf(change, copies));
    yield change;
  }
  if (entries.length === 0) return rmSync(directory, { recursive: true });
  using held = HeldDirectory.open(realpathSync(directory));
  const text = JSON.stringify({ takenAtMs, entries } satisfies z.infer<typeof manifest>);
  putFile({ directory: held, name: names.manifest }, Buffer.from(text), {});
}

function rowOf({ path, before }: Change, copies: Copies): Row {
  if (before.kind !== "file" && before.kind !== "symlink") return { path, kind: "missing" };
  const copy = before.content && copies.add(before.content.read());
  return { path, kind: before.kind, mode: before.mode, content: copy && { offset: copy.offset, length: copy.length } };
}

/** Undefined when nothing was stored there. */
export function openStored(directory: string, root: string) {
  const path = join(directory, names.manifest);
  if (!existsSync(path)) return undefined;
  const { takenAtMs, entries } = manifest.parse(JSON.parse(readFileSync(path, "utf8")));
  const copies = new Copies(join(directory, names.contents), "r");
  const files = new Map(entries.map((row) => [join(root, row.path), entryOf(row, copies)]));
  return { takenAtMs, files, copies };
}

function entryOf({ kind, mode = 0, content }: Row, copies: Copies): Entry {
  if (kind === "missing") return { kind };
  return { kind, mode, content: content && copies.at(content.offset, content.length) };
}
