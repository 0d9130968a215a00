import { readFileSync } from "node:fs";
import { z } from "zod";
import { parseJson } from "../../config/json.ts";
import { unlessRefused } from "../../errors.ts";
import { type EgressRefusal, latestLines, refusalFile } from "./log.ts";

/** For `koda doctor` alone: writing the file needs no zod. */
const refusal: z.ZodType<EgressRefusal> = z.object({
  at: z.string(),
  via: z.enum(["http", "socks", "fetch"]),
  host: z.string(),
  port: z.int(),
  reason: z.string(),
  tool: z.string().exactOptional(),
});

/** The latest refusals of all sessions, oldest first. */
export function readRefusals(dataDirectory: string): readonly EgressRefusal[] {
  const text = unlessRefused(() => readFileSync(refusalFile(dataDirectory), "utf8")) ?? "";
  // The last line is cut off when the machine stopped while it was written.
  return latestLines(text).flatMap((line) => refusal.safeParse(parseJson(line)).data ?? []);
}
