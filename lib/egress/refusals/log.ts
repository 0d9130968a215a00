import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { mostRefusals, type EgressRefusal } from "./refusal.ts";

/** Beyond this the file is cut back to its latest lines, which take a quarter of it. */
const mostBytes = 256 * 1024;

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Writes one down for `koda doctor`, in one line and one call, so that several kodas may do so at once. What cannot be
 * written is not: the refusal was told as an event already, and a full disk must not end a run that has no need of it.
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

/** Opened each time, since another koda may have replaced the file; gives its size. */
function append(line: string, file: string): number {
  const descriptor = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    writeSync(descriptor, line);
    return fstatSync(descriptor).size;
  } finally {
    closeSync(descriptor);
  }
}

/** Whoever reads or appends meanwhile has the old file or the new one; a line that another one adds to the old one now is lost. */
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
