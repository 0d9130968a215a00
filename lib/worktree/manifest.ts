import { readFileSync } from "node:fs";
import { z } from "zod";
import { parseJson } from "../config/json.ts";
import { unlessRefused } from "../errors.ts";
import type { Manifest } from "./record.ts";

const state = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("missing") }),
  z.strictObject({
    kind: z.enum(["file", "symlink"]),
    mode: z.int(),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
    stamp: z.string().optional(),
  }),
]);

/** Relative to the root, and nowhere else. */
const inside = z.string().refine((path) => path.split("/").every((name) => !["", ".", ".."].includes(name)));

const manifests: z.ZodType<Manifest[]> = z.array(
  z.strictObject({
    root: z.string().startsWith("/"),
    changes: z.array(z.strictObject({ path: inside, before: state, after: state })),
    made: z.array(inside),
    removed: z.array(inside),
  }),
);

/** Undefined when there is no such file; "damaged" when it cannot be used. */
export function readManifest(path: string): Manifest[] | "damaged" | undefined {
  const text = unlessRefused(() => readFileSync(path, "utf8"));
  if (text === undefined) return undefined;
  const read = manifests.safeParse(parseJson(text));
  return read.success ? read.data : "damaged";
}
