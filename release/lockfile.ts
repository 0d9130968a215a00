import { readFileSync } from "node:fs";

/** A package as `package-lock.json` has it. */
export type LockedPackage = { version: string; integrity: string; license?: string };

/** The package at this place, such as `node_modules/zod`. */
export function lockedPackage(place: string): LockedPackage {
  const found = packages()[place];
  if (found === undefined) throw new Error(`package-lock.json has no "${place}": run npm install`);
  return found;
}

let read: Readonly<Record<string, LockedPackage>> | undefined;

function packages(): Readonly<Record<string, LockedPackage>> {
  return (read ??= JSON.parse(readFileSync("package-lock.json", "utf8")).packages as Record<string, LockedPackage>);
}
