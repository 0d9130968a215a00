import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

type Options = {
  /** Of what is put back after it was changed the times differ. */
  times: boolean;
};

/** All that can be changed of what lies at these paths below `base`, by path: content, mode, owner, names. */
export function fingerprint(base: string, paths: readonly string[], { times }: Options): Record<string, string> {
  const entries = paths.flatMap((path) => entriesAt(base, path, times));
  return Object.fromEntries(entries.filter(([path]) => !harmless.test(path)));
}

/** Files that koda quarantined, its records of repositories, and objects that nothing in their repository refers to. */
const harmless = /\/koda-(quarantine|run-)|\.git\/objects\/[0-9a-f]{2}(\/|$)/;

function entriesAt(base: string, path: string, times: boolean): [path: string, state: string][] {
  const full = join(base, path);
  const stats = lstatSync(full, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  const { mode, uid, gid, mtimeMs, nlink } = stats;
  const state = [mode.toString(8), uid, gid];
  if (stats.isFile()) return [[path, [...state, times ? mtimeMs : "", nlink, Bun.hash(readFileSync(full))].join(" ")]];
  if (stats.isSymbolicLink()) return [[path, [...state, readlinkSync(full)].join(" ")]];
  // Of a directory the names in it are what counts; its times change too when one has come and gone.
  const inside = stats.isDirectory()
    ? readdirSync(full).flatMap((name) => entriesAt(base, join(path, name), times))
    : [];
  return [[path, state.join(" ")], ...inside];
}

/** All that others can do to a process short of ending it. */
export function processState(pid: number): Record<string, string> {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // After the name in parentheses: state, …, and the nice value as the 17th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const processors = /^Cpus_allowed:.*$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[0];
  return {
    "the stranger is stopped": String(fields[0] === "T"),
    "the stranger's priority": `${fields[15]} ${fields[16]} ${fields[38]}`,
    "the stranger's processors": processors ?? "",
    "the stranger's limits": readFileSync(`/proc/${pid}/limits`, "latin1"),
    "the stranger's score": readFileSync(`/proc/${pid}/oom_score_adj`, "latin1"),
  };
}
