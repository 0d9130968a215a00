import { afterAll, describe, expect, test } from "bun:test";
import { syscalls } from "../../lib/sandbox/assembly/syscalls.ts";
import { type Arena, type Ground, openArena } from "./arena.ts";
import { makePlace } from "./place.ts";
import { python as interpreter } from "./stranger.ts";
import { everyUser, type TierName, type User, users, whyMissing } from "./tiers.ts";

/** One command, and what becomes of it: in every sandbox, unless a tier has words of its own, and without any. */
export type Attempt = {
  /** A whole sentence about what holds in the sandbox. */
  readonly that: string;
  readonly run: string | readonly [program: string, ...args: string[]];
  readonly confined: Outcome | ByUser;
  readonly in?: Partial<Record<Confining, Outcome | ByUser>>;
  /** What shows that the attempt would work otherwise; absent where nobody should try, or where nothing differs. */
  readonly unconfined?: Outcome & { only?: User };
  /** Programs without which there is nothing to try. */
  readonly needs?: readonly string[];
};

/** A guest is treated like root, unless the row says otherwise. */
export type ByUser = Record<"root" | "nobody", Outcome> & { guest?: Outcome };

export type Outcome = {
  readonly says: RegExp;
  /** 0 when absent. */
  readonly exit?: number;
  /** What it changes of what is none of its business; nothing when absent. Whether it does may be left to other tests. */
  readonly changes?: readonly string[] | "perhaps";
  /** What the tier's own notes say of it, where it is weaker than others. */
  readonly gap?: RegExp;
};

export type Confining = Exclude<TierName, "none">;

export type Table = {
  readonly about: string;
  readonly ground?: Ground;
  readonly attempts: readonly Attempt[];
};

/** Tries every row in one tier, as every user there is. */
export async function tryIn(tier: TierName, tables: readonly Table[]): Promise<void> {
  // Without a sandbox root is root, whosever the project is.
  for (const user of tier === "none" ? users : everyUser) {
    await using place = makePlace();
    const missing = await whyMissing(tier, place, { user });
    const about = (what: string, tests: () => void) =>
      describe.skipIf(missing !== undefined)(`${tier}, as ${user}: ${what}${missing ? ` (${missing})` : ""}`, tests);
    for (const { ground, tables: sharing } of groundsOf(tables)) {
      const arenas = arenasOf(tier, { ...ground, user });
      for (const table of sharing)
        about(table.about, () => {
          if (tier === "none") tryUnconfined(table.attempts, user, arenas);
          else tryConfined(tier, table.attempts, { user, arenas });
          afterAll(arenas.tidy);
        });
      about(`at the end of ${sharing.map((table) => table.about).join(", ")}`, () => {
        if (tier !== "none") test("nobody has reached the stranger", () => expectUnreached(arenas));
        afterAll(arenas.leave);
      });
    }
  }
}

/** Tables that begin with the same things around them are tried in the same arena. */
function groundsOf(tables: readonly Table[]): { ground: Ground; tables: readonly Table[] }[] {
  const grounds = Map.groupBy(tables, ({ ground = {} }) => JSON.stringify(ground));
  return [...grounds.values()].map((sharing) => ({ ground: sharing[0]?.ground ?? {}, tables: sharing }));
}

type Arenas = Record<"tidy" | "leave", () => Promise<void>> & { get(): Promise<Arena> };
type As = { user: User; arenas: Arenas };

function tryConfined(tier: Confining, attempts: readonly Attempt[], { user, arenas }: As): void {
  for (const attempt of attempts)
    test.skipIf(!canBeTried(attempt))(attempt.that, async () => {
      const outcome = attempt.in?.[tier] ?? attempt.confined;
      await expectOutcome(arenas, attempt, "says" in outcome ? outcome : forUser(outcome, user));
    });
}

async function expectUnreached(arenas: Arenas): Promise<void> {
  const { stranger } = await arenas.get();
  expect(await stranger.leave()).toEqual([]);
}

function forUser(outcomes: ByUser, user: User): Outcome {
  return user === "guest" ? (outcomes.guest ?? outcomes.root) : outcomes[user];
}

function tryUnconfined(attempts: readonly Attempt[], user: User, arenas: Arenas): void {
  for (const attempt of attempts) {
    const { that, unconfined } = attempt;
    if (unconfined === undefined || (unconfined.only ?? user) !== user) continue;
    test.skipIf(!canBeTried(attempt))(`not so without a sandbox: ${that}`, async () => {
      await expectOutcome(arenas, attempt, unconfined);
    });
  }
}

/** One arena for all attempts, until one has damaged it for good: then there is another for the next. */
function arenasOf(tier: TierName, ground: Ground & { user: User }): Arenas {
  let arena: Promise<Arena> | undefined;
  const leave = async () => {
    const left = arena;
    arena = undefined;
    await (await left)?.[Symbol.asyncDispose]();
  };
  return { get: async () => (arena ??= openArena(tier, ground)), tidy: async () => (await arena)?.tidy(), leave };
}

async function expectOutcome(
  arenas: Arenas,
  { run }: Attempt,
  { says, exit = 0, changes = [], gap }: Outcome,
): Promise<void> {
  const { run: runIn, tier, repair } = await arenas.get();
  const { changes: look, ...ran } = await runIn(run);
  try {
    expect({ output: ran.output, exit: ran.exit }).toEqual({ output: expect.stringMatching(says), exit });
    if (changes.length === 0) expect(look()).toEqual([]);
    if (changes !== "perhaps") await expectChanges(changes, look);
  } finally {
    if (look().length > 0 && !repair()) await arenas.leave();
  }
  if (gap !== undefined) expect(tier.backend.notes.join("\n")).toMatch(gap);
}

/** A signal is not heard at once. */
async function expectChanges(expected: readonly string[], look: () => readonly string[]): Promise<void> {
  const deadline = performance.now() + 20_000;
  const areThere = () => expected.every((each) => look().includes(each));
  while (!areThere() && performance.now() < deadline) await Bun.sleep(10);
  expect(look()).toEqual(expect.arrayContaining([...expected]));
}

function canBeTried({ needs = [] }: Attempt): boolean {
  return needs.every((name) => Bun.which(name, { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" }) !== null);
}

/** A row in Python, for what no program of a shell can do. It prints what became of each thing that it `tried`. */
export function python(strings: TemplateStringsArray, ...values: readonly (string | number)[]): Attempt["run"] {
  const text = String.raw(strings, ...values);
  return [interpreter, "-IS", "-c", `${importsOf(text)}\n${prelude}\n${text}`];
}

/** Numbers of calls that our own tables have no use for: x86-64, arm64. */
const others: Record<string, readonly [x64: number, arm64: number]> = {
  landlock_create_ruleset: [444, 444],
  landlock_restrict_self: [446, 446],
  linkat: [265, 37],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  pidfd_open: [434, 434],
  pidfd_send_signal: [424, 424],
  renameat2: [316, 276],
  rt_sigqueueinfo: [129, 138],
  set_mempolicy: [238, 237],
  tgkill: [234, 131],
  unlinkat: [263, 35],
};

const numbers = Object.fromEntries(
  Object.entries({ ...syscalls, ...others }).map(([name, pair]) => [name, pair[process.arch === "arm64" ? 1 : 0]]),
);

/** Some modules take longer to load than all that a row does. */
function importsOf(text: string): string {
  const slow = ["signal", "socket"].filter((name) => new RegExp(`\\b${name}\\.`).test(text));
  return [
    `import errno, fcntl, os, struct, sys, time`,
    ...slow.map((name) => `import ${name}`),
    ...(/\b(call|libc|ctypes)\b/.test(text) ? [libc] : []),
  ].join("\n");
}

const libc = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long`;

const prelude = `
E = os.environ
P, H, OUT, TMP = E["P"], E["H"], E["OUT"], E["TMPDIR"]
STRANGER, KODA, PORT = int(E["STRANGER"]), int(E["KODA"]), int(E["PORT"])
SYS = ${JSON.stringify(numbers)}
def call(name, *arguments):
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(SYS[name]), *plain)
    if result == -1: raise OSError(ctypes.get_errno(), name)
    return result
def tried(action, *arguments):
    try: action(*arguments)
    except OSError as error: return errno.errorcode[error.errno]
    return "done"
def writes(path, how=os.O_WRONLY):
    return tried(lambda: os.close(os.open(path, how)))
def connects(s, address):
    try: s.connect(address)
    except OSError as error: return errno.errorcode[error.errno]
    return s.recv(16).decode()
`;
