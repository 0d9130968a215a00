import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { arm64 } from "../../lib/sandbox/assembly/arm64.ts";
import { Assembly } from "../../lib/sandbox/assembly/assembly.ts";
import { syscalls } from "../../lib/sandbox/assembly/syscalls.ts";
import { x64 } from "../../lib/sandbox/assembly/x64.ts";
import { compileFilter, refuse } from "../../lib/sandbox/filter/bpf.ts";
import { filterCalls } from "../../lib/sandbox/program/steps/filter.ts";
import { hereArch, withoutNewPrivileges } from "./assembled.ts";
import type { Place } from "./place.ts";

/** Beside those that the sandbox itself knows. */
const others = { memfd_create: [319, 279] } as const;
const calls = { ...syscalls, ...others };

const audits = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

/** By what number each call is refused. */
export type Denials = { readonly [call in keyof typeof calls]?: number };

/** What Docker's default profile does to whoever has no capabilities. */
export const asInDocker: Denials = {
  unshare: 1,
  setns: 1,
  mount: 1,
  open_tree: 1,
  move_mount: 1,
  mount_setattr: 1,
  clone3: 38,
};

/** The path of a program, in a directory, that becomes its arguments under a filter which refuses calls: another kernel, or a container. */
export function programWithout(denials: Denials, directory: string): string {
  const assembly = new Assembly(hereArch === "arm64" ? arm64 : x64);
  const rules = Object.entries(denials).map(([call, errno]) => ({
    // The entries of a record that has no other keys.
    call: calls[call as keyof typeof calls][hereArch === "x64" ? 0 : 1],
    otherwise: refuse(errno),
  }));
  withoutNewPrivileges(assembly);
  filterCalls(assembly, { filter: compileFilter({ audit: audits[hereArch] }, rules) });
  const { program, argv, environment } = assembly;
  assembly.step("execve", [program, argv, environment], { must: "execve" });
  const path = join(directory, `denying-${Bun.randomUUIDv7()}`);
  writeFileSync(path, assembly.finish(), { mode: 0o755 });
  return path;
}

/** The strongest sandbox and the one without mounts, with the program that koda is started behind. */
export const strongestAndMountless: readonly { name: string; prefix: (place: Place) => readonly string[] }[] = [
  { name: "namespaces", prefix: () => [] },
  { name: "landlock", prefix: (place) => [programWithout(asInDocker, dirname(place.project))] },
];

/** Each sandbox, by taking away what a stronger one needs. */
export const everyTier: typeof strongestAndMountless = [
  ...strongestAndMountless,
  { name: "bwrap", prefix: (place) => [programWithout({ setns: 1 }, dirname(place.project))] },
];
