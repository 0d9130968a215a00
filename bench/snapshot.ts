import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { policyOf } from "../test/support/policy.ts";
import { makePlace, type Place } from "../test/support/place.ts";
import { runGit } from "../test/support/worktree.ts";
import { makeRoom } from "../lib/worktree/sweep.ts";
import { takeSnapshot } from "../lib/worktree/snapshot.ts";
import { type Figure, interleaved, median } from "./measure.ts";

const directories = 1000;
const filesInEach = 50;
const live = new AbortController().signal;

/**
 * The time that the snapshot of a turn takes in a repository of 50,000 files: before the turn, after it, and keeping
 * the files that changed. The floor is git comparing the work tree with its index once before and once after.
 */
export async function measure(): Promise<Figure[]> {
  await using place = makePlace({}, "/var/tmp");
  makeRepository(place);
  let seq = 0;
  const turn = (change: (round: number) => void) => () => timeOfTurn(place, { seq: ++seq, change });
  const nothing = () => {};
  const twenty = (round: number) => {
    for (let at = 0; at < 20; at++) place.write(`d${at * 7}/f${at}.ts`, textOf(round, at));
  };
  const [none = [], some = [], floor = []] = await interleaved(11, turn(nothing), turn(twenty), () => floorOf(place));
  const least = median(floor);
  return [
    figure("snapshot of a turn without a change, 50,000 files", median(none), { floor: least, mostMs: 150 }),
    figure("the same with 20 changed files", median(some), { floor: least, mostMs: 250 }),
  ];
}

function figure(what: string, value: number, { floor, mostMs }: { floor: number; mostMs: number }): Figure {
  return { what, value, unit: "ms", floor, bar: `≤ ${mostMs} ms`, holds: value <= mostMs };
}

function makeRepository({ project, env }: Place): void {
  for (let at = 0; at < directories; at++) {
    mkdirSync(join(project, `d${at}`));
    for (let file = 0; file < filesInEach; file++) writeFileSync(join(project, `d${at}/f${file}.ts`), textOf(at, file));
  }
  runGit(project, env, ["init", "-q"]);
  runGit(project, env, ["add", "-A"]);
  // After a commit of so many objects git packs them in the background, for seconds, on a processor of its own.
  runGit(project, env, ["-c", "gc.auto=0", "commit", "-q", "-m", "x"]);
}

function textOf(one: number, other: number): string {
  return `export const value${one}x${other} = ${Math.random()};\n`.repeat(30);
}

type TimedTurn = { seq: number; change: (round: number) => void };

async function timeOfTurn(place: Place, { seq, change }: TimedTurn): Promise<number> {
  const temporary = join(place.home, "../tmp");
  const snapshots = join(place.home, "snapshots");
  const options = { policy: policyOf(place), temporary, searchPath: place.env.PATH };
  const started = performance.now();
  await using snapshot = await takeSnapshot(options, live);
  const taken = performance.now();
  change(seq);
  const changed = performance.now();
  const { added } = await snapshot.record({ snapshots, session: "s", by: "turn", seq }, live);
  makeRoom(snapshots, added);
  return performance.now() - changed + (taken - started);
}

async function floorOf({ project, env }: Place): Promise<number> {
  const started = performance.now();
  for (let time = 0; time < 2; time++) {
    const child = Bun.spawn(["git", "ls-files", "-z", "-m"], { cwd: project, env, stdout: "pipe" });
    await child.stdout.bytes();
  }
  return performance.now() - started;
}
