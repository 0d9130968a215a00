import { readFileSync } from "node:fs";
import { z } from "zod";
import { unlessRefused } from "../../errors.ts";
import { latestLines, refusalFile } from "./log.ts";
import type { EgressRefusal } from "./refusal.ts";

/** For `koda doctor` alone: what writes the file does not need to load this. */
const refusal: z.ZodType<EgressRefusal> = z.object({
  at: z.string(),
  via: z.enum(["http", "socks", "fetch", "connect"]),
  host: z.string(),
  port: z.int(),
  reason: z.string(),
  tool: z.string().exactOptional(),
});

/** The latest of all sessions, oldest first; none where nothing was ever refused. */
export function readRefusals(dataDirectory: string): readonly EgressRefusal[] {
  const text = unlessRefused(() => readFileSync(refusalFile(dataDirectory), "utf8")) ?? "";
  // A machine may have stopped in the middle of a line.
  return latestLines(text).flatMap((line) => refusal.safeParse(unlessBroken(line)).data ?? []);
}

function unlessBroken(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
