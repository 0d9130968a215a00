import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import type { EgressRequest } from "../wayout.ts";

/** A request to a host that the rules refuse. */
export type EgressRefusal = Pick<EgressRequest, "via" | "host" | "port"> & {
  /** The time, as in an event. */
  at: string;
  /** A sentence for people, with the flag that would allow it where there is one. */
  reason: string;
  /** The id of the call that made the request, where that is known. */
  tool?: string;
};

/** The number that is kept: enough to see what a run lacked. */
export const mostRefusals = 200;

/** A larger file is cut back to its latest lines, which take a quarter of it. */
const mostBytes = 256 * 1024;

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Logs a refusal for `koda doctor`, in one line and one call, so that several kodas may do so at once. A failure to
 * write is ignored: the refusal was an event already, and a full disk must not end a run that has no need of it.
 */
export function appendRefusal(refusal: EgressRefusal, dataDirectory: string): void {
  const file = refusalFile(dataDirectory);
  unlessRefused(() => {
    if (append(`${JSON.stringify(refusal)}\n`, file) > mostBytes) cutBack(file);
  });
}

export function refusalFile(dataDirectory: string): string {
  return join(dataDirectory, "refusals.jsonl");
}

/** Opens the file each time, since another koda may have replaced it; returns its size. */
function append(line: string, file: string): number {
  const descriptor = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    writeSync(descriptor, line);
    return fstatSync(descriptor).size;
  } finally {
    closeSync(descriptor);
  }
}

/** Others read the old file or the new one. A line that another koda appends to the old one meanwhile is lost. */
function cutBack(file: string): void {
  const shorter = `${file}.${process.pid}`;
  const kept = latestLines(readFileSync(file, "utf8")).map((line) => `${line}\n`);
  writeFileSync(shorter, kept.join(""), { mode: 0o600 });
  renameSync(shorter, file);
}

export function latestLines(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .slice(-mostRefusals);
}
