import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Copies } from "../files/copies.ts";
import type { Entry } from "../files/entry.ts";
import { HeldDirectory } from "../files/held.ts";
import { putFile } from "../files/save.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import type { Change } from "./patch.ts";
import type { Past } from "./past.ts";

/*
 * What a snapshot leaves behind: the entries that were changed in its time, and their contents in one file. It needs
 * neither the repository's objects, which git may prune, nor the run's own directory.
 */

const signature = z.strictObject({
  mode: z.number(),
  uid: z.number(),
  gid: z.number(),
  size: z.number(),
  modifiedMs: z.number(),
  changedMs: z.number(),
  device: z.number(),
  inode: z.number(),
});

const row = z.discriminatedUnion("kind", [
  z.strictObject({ path: z.string(), kind: z.literal("missing") }),
  z.strictObject({
    path: z.string(),
    kind: z.enum(["file", "symlink"]),
    mode: z.number(),
    signature: signature.optional(),
    content: z.strictObject({ offset: z.number(), length: z.number() }).optional(),
  }),
]);

const manifest = z.strictObject({ takenAtMs: z.number(), entries: z.array(row) });

type Row = z.infer<typeof row>;

/** Passes changes on, and stores what was there before them. The manifest comes last: without it there is nothing. */
export async function* storeAlong(
  changes: AsyncIterable<Change>,
  directory: string,
  { takenAtMs }: Past,
): AsyncGenerator<Change> {
  rmSync(directory, { recursive: true, force: true });
  const entries: Row[] = [];
  let copies: Copies | undefined;
  try {
    for await (const change of changes) {
      copies ??= makeCopies(directory);
      entries.push(rowOf(change, copies));
      yield change;
    }
  } finally {
    copies?.[Symbol.dispose]();
  }
  if (entries.length > 0) writeManifest(directory, { takenAtMs, entries });
}

function makeCopies(directory: string): Copies {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return new Copies(join(directory, contents));
}

const contents = "contents";
const name = "manifest.json";

function rowOf({ path, before }: Change, copies: Copies): Row {
  if (before.kind !== "file" && before.kind !== "symlink") return { path, kind: "missing" };
  const { kind, mode, signature, content } = before;
  const copy = content && copies.add(content.read());
  return { path, kind, mode, signature, content: copy && { offset: copy.offset, length: copy.length } };
}

function writeManifest(directory: string, written: z.infer<typeof manifest>): void {
  using held = HeldDirectory.open(realpathSync(directory));
  putFile({ directory: held, name }, Buffer.from(JSON.stringify(written)), {});
}

export function openStored(directory: string, policy: Policy): (Past & { copies: Copies }) | undefined {
  const path = join(directory, name);
  if (!existsSync(path)) return undefined;
  const { takenAtMs, entries } = manifest.parse(JSON.parse(readFileSync(path, "utf8")));
  const copies = new Copies(join(directory, contents), "r");
  const files = new Map(entries.map((row) => [join(policy.root, row.path), entryOf(row, copies)]));
  return {
    policy,
    takenAtMs,
    files,
    copies,
    notes: [],
    isOwn: () => false,
    touched: async () => [...files.keys()],
    entriesAt: async () => (at) => files.get(at),
  };
}

function entryOf(row: Row, copies: Copies): Entry {
  if (row.kind === "missing") return row;
  const { kind, mode, signature, content } = row;
  return { kind, mode, signature, content: content && copies.at(content.offset, content.length) };
}
