import { readFileSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { realTimeLimit } from "../system/limits.ts";
import { livingProcesses, type ProcessStat, statOf } from "../system/procstat.ts";

/**
 * A number that the processes of a command carry wherever they go, so that they are found again when they have left
 * their group and their parents are gone. It stands in their environment, and is their soft limit of real-time CPU
 * time too: at least 146,000 years, so nothing else depends on it. The limit survives `env -i`, new sessions and most
 * changes of the user; `su`, which sets limits itself, keeps the environment. In a sandbox the filter refuses every
 * change of the limit (lib/sandbox/filter/limits.ts), so a command cannot take off its mark or forge another.
 */
export type Mark = bigint;

export const markVariable = "KODA_CALL";

const lowest = 1n << 62n;
/** The bits that tell the commands of one family apart. */
const memberBits = (1n << 24n) - 1n;

/** The mark that stands for all commands of one shell. */
export function newFamily(): Mark {
  const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return lowest | (random & (lowest - 1n) & ~memberBits);
}

/** The mark of the nth command of a family, counted from 1. */
export function memberOf(family: Mark, n: number): Mark {
  return family | (((BigInt(n) - 1n) % memberBits) + 1n);
}

const usersFamily = newFamily();

/** For a program that the user's own settings run. */
export function newUsersMark(): Mark {
  return memberOf(usersFamily, Math.ceil(Math.random() * Number(memberBits)));
}

/** Such a program started it, like the agent that a key command needs: it is not koda's to end. */
export function isUsers({ pid }: ProcessStat): boolean {
  const found = limitMark(pid) ?? environmentMark(pid);
  return found !== undefined && familyOf(found) === usersFamily;
}

/** The living processes of a command, or of a whole family. */
export function marked(mark: Mark): ProcessStat[] {
  // The processes found are going to be killed, and a smaller number could be another program's own limit.
  if (!isMark(mark)) throw new TypeError(`"${mark}" is not the mark of a command`);
  const since = Number(statOf(process.pid)?.started);
  return (livingProcesses() ?? []).filter(({ pid, started }) => {
    // Reading marks takes long, and most processes of a machine are older than koda.
    if (Number(started) < since) return false;
    const found = limitMark(pid) ?? environmentMark(pid);
    return found === mark || (found !== undefined && familyOf(found) === mark);
  });
}

function familyOf(mark: Mark): Mark {
  return mark & ~memberBits;
}

function isMark(number: bigint): boolean {
  return number >= lowest && number < 2n * lowest;
}

/** The mark that a process has as its limit. Koda's own does not count: in a command of koda everything inherits it. */
function limitMark(pid: number): Mark | undefined {
  const found = realTimeLimit(pid);
  return found !== undefined && isMark(found) && found !== realTimeLimit(process.pid) ? found : undefined;
}

const markInEnvironment = new RegExp(`(?:^|\0)${markVariable}=([^\0]*)`);

/** The mark in the environment that a process was started with; 0 when something else stands there. */
function environmentMark(pid: number): Mark | undefined {
  const environment = unlessRefused(() => readFileSync(`/proc/${pid}/environ`, "latin1")) ?? "";
  const [, value] = markInEnvironment.exec(environment) ?? [];
  if (value === undefined) return undefined;
  return /^\d+$/.test(value) ? BigInt(value) : 0n;
}
