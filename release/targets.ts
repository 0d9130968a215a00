import { closeSync, openSync, readSync } from "node:fs";

/** The platforms of a release. */
export const targets = ["linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl"] as const;

export type Target = (typeof targets)[number];

export function targetOf(name: string): Target {
  const target = targets.find((candidate) => candidate === name);
  if (target === undefined) throw new Error(`Unknown target "${name}": expected one of ${targets.join(", ")}`);
  return target;
}

/** The target of the Bun that runs this; undefined where koda has none. */
export function hostTarget(): Target | undefined {
  const libc = firstPage(process.execPath).includes("/ld-musl-") ? "-musl" : "";
  return targets.find((target) => target === `${process.platform}-${process.arch}${libc}`);
}

/** The path of the dynamic loader stands there. */
function firstPage(program: string): Buffer {
  const file = openSync(program, "r");
  const page = Buffer.alloc(4096);
  readSync(file, page);
  closeSync(file);
  return page;
}
