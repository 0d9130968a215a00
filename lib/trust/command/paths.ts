import { posix } from "node:path";
import { isBelow } from "../../files/path.ts";
import type { Policy } from "../../sandbox/policy/policy.ts";
import { configAt, hostTmp, protectedName } from "../../sandbox/policy/reach.ts";
import { hostPath } from "../../sandbox/policy/seen.ts";
import { worsen, type Judgement } from "./judgement.ts";
import type { Invocation } from "./matcher.ts";
import { keepsNothing, writers } from "./table.ts";
import { anything, isLiteral, markAt, something, withoutGuess } from "./words.ts";

/** The run's policy, as far as it is known, and whether the kernel holds commands to it. */
export type CommandSurroundings = Pick<Policy, "root" | "write" | "home"> &
  Partial<Pick<Policy, "tmp" | "readonly" | "privateTmp" | "show" | "allowConfig">> & { readonly confined: boolean };

/** Judges the files that a command says it will write, where nothing confines it. */
export function judgePaths({ program, operands, options }: Invocation, judgement: Judgement): void {
  const has = (...names: readonly string[]) => options.some(({ name }) => names.includes(name));
  const words = operands.map(({ text }) => text);
  const write = (paths: readonly string[], how?: Deletion) => judgeWrites(paths, judgement, how);
  const isInto = has("-t", "--target-directory", "-d");
  if (program === "cd" || program === "pushd") enter(words[0] ?? judgement.around.home, judgement);
  if (program === "dd") write(words.flatMap((word) => /^of=(.*)/s.exec(word)?.[1] ?? []));
  if (writers.all.includes(program)) write(words);
  if (writers.last.includes(program)) write(isInto ? words : words.slice(1).slice(-1));
  if (program === "mv") write(isInto ? words : words.slice(0, -1), { deletes: true });
  if (writers.delete.includes(program)) write(words, { deletes: true, whole: has("-r", "-R", "--recursive") });
  if (program === "find" && has("-delete")) write([`${words[0] ?? "."}/${something}`], { deletes: true, whole: true });
}

/** Directories are remembered, not followed: from now on the command may be in any that it ever went to. */
function enter(word: string, judgement: Judgement): void {
  const { places, around } = judgement;
  const isKnown = places !== undefined && isLiteral(word) && word !== "-";
  judgement.places = isKnown ? [...places, posix.resolve(places.at(-1) ?? around.root, word)] : undefined;
}

type Deletion = { deletes?: boolean; /** With all that is in it. */ whole?: boolean };

export function judgeWrites(words: readonly string[], judgement: Judgement, how: Deletion = {}): void {
  for (const word of judgement.around.confined ? [] : words) {
    const places = word.startsWith("/") ? ["/"] : judgement.places;
    const isKnown = places !== undefined && !word.startsWith(anything) && word === withoutGuess(word);
    if (isKnown) for (const place of places) judgeWrite(word, place, { judgement, ...how });
    else if (how.whole === true) judgement.outside ??= "a directory to delete that is not known beforehand";
  }
}

/** By its letters: the word is a path, or when it is not literal one whose name begins so in a directory. */
function judgeWrite(word: string, place: string, how: Deletion & { judgement: Judgement }): void {
  const { judgement } = how;
  const { root, write, home, readonly = [], show = [], tmp = hostTmp, privateTmp = false } = judgement.around;
  const isExact = isLiteral(word);
  const head = isExact ? word : word.slice(0, markAt(word));
  const cut = isExact ? head.length : head.lastIndexOf("/") + 1;
  const path = posix.resolve(place, head.slice(0, cut));
  const prefix = isExact ? path : posix.join(path, "/", head.slice(cut));
  const shown = isExact ? path : `${prefix}*`;

  if (keepsNothing.test(path)) return;
  const isDevice = /^\/dev\/(?!shm\/)|^\/proc\/sysrq-trigger$/.test(prefix);
  if (isDevice) return worsen(judgement, "destructive", `writing to the device ${shown}`);
  const holds = (one: string) => (isExact ? isBelow(one, path) : one !== path && one.startsWith(prefix));
  if (how.deletes === true && [root, ...write, home].some(holds)) worsen(judgement, "destructive", `deleting ${shown}`);
  const real = hostPath(path, { privateTmp, tmp, write, show });
  const roots = write.filter((one) => isBelow(real, one));
  const isOwn = roots.some((one) => protectedName(real.slice(one.length)) !== undefined);
  const isProtected = isOwn || readonly.some((one) => isBelow(real, one));
  if (judgement.around.allowConfig !== true && configAt(real, { write, tmp }) !== undefined)
    judgement.outside ??= `other programs run what is in ${shown} (--allow-config allows changes)`;
  if (roots.length === 0 || isProtected) judgement.outside ??= isProtected ? `${shown} is read-only` : shown;
}
