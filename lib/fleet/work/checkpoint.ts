import { z } from "zod";
import type { LogPart, LogTransfer } from "../../session/transfer.ts";
import type { Masks } from "./masks.ts";
import type { WorkTree } from "./worktree.ts";
import type { Checkpoint } from "../store.ts";

const headSchema = z.object({
  /** The commit that the patch is against; absent where the task has no repository. */
  base: z.string().optional(),
  session: z.string(),
  /** The number of the last item. */
  to: z.number(),
});

type Head = z.infer<typeof headSchema>;

/** An attempt as far as the store has it. */
export type Chain = Head & { parts: Pick<LogPart, "version" | "rows">[]; patch: Uint8Array };

/** Puts the checkpoints of earlier attempts together, the last of which has the patch; undefined without a log. */
export function chainOf(checkpoints: readonly Checkpoint[]): Chain | undefined {
  const last = checkpoints.at(-1);
  // An attempt that began again has a log of its own.
  const first = checkpoints.findLastIndex(({ from }) => from === 1);
  if (last === undefined || first < 0) return undefined;
  const end = last.patch.indexOf(newline);
  const head = headSchema.parse(JSON.parse(new TextDecoder().decode(last.patch.subarray(0, end))));
  const parts = checkpoints.slice(first).map(({ version, items }) => ({ version, rows: items }));
  return { ...head, parts, patch: last.patch.subarray(end + 1) };
}

const newline = 0x0a;

/** The log and the changes of a work tree, since the item that the store has already. */
export async function takeCheckpoint(
  { logs, masks, tree }: { logs: LogTransfer; masks: Masks; tree: WorkTree },
  stored: number,
  signal: AbortSignal,
): Promise<(Checkpoint & { to: number }) | undefined> {
  const part = logs.read(tree.session, stored, (text) => masks.text(text));
  if (part === undefined) return undefined;
  const patch = masks.patch((await tree.shadow?.patch(signal)) ?? new Uint8Array());
  const head: Head = { ...(tree.shadow && { base: tree.shadow.base }), session: tree.session, to: part.to };
  const line = new TextEncoder().encode(`${JSON.stringify(head)}\n`);
  const { version, from, to, rows } = part;
  return { version, from, to, items: rows, patch: Buffer.concat([line, patch]) };
}
