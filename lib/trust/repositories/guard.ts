import { basename, relative } from "node:path";
import { isBelow } from "../../files/path.ts";
import type { Restoration } from "../../files/restore.ts";
import type { RepositoryFinding } from "./finding.ts";
import { remember, rememberPlace, withOneName } from "./memory.ts";
import type { RepositoryOptions } from "./newrepositories.ts";
import { guardedParts } from "./parts.ts";
import type { ProtectedPaths } from "./protected.ts";
import { type GuardedPath, guardPath, restorePath } from "./guardedpath.ts";

/** Mounts hold what is protected, but for symlinks and for what is not there yet, which no mount can. */
type Mounted = { isMounted?: boolean };

/**
 * Of the repository that is open only what git would run is guarded; what commands added is moved to the quarantine.
 */
type GuardOptions = RepositoryOptions &
  Mounted & {
    /** Other paths that are to stay as they are, there or not. */
    also?: readonly string[];
    /** The same, by where the repositories are now. */
    named?: () => readonly string[];
    /** Does a command run that began earlier and goes on beside the calls? */
    isBusy?: () => boolean;
    /** Resolves when no other run's commands could change what is guarded, until it is disposed. */
    alone?: (signal: AbortSignal) => Promise<Disposable>;
  };

/**
 * Holds protected paths where no mount can: remembers what they were before a command, and restores them after it.
 * Commands that overlap share one memory, taken when none was running; what one of them did would be remembered as
 * right for the next otherwise.
 */
export class Guard {
  readonly #paths: ProtectedPaths;
  readonly #options: GuardOptions;
  #guarded: readonly GuardedPath[] = [];
  #running = 0;
  /** A command outlived the last look. */
  #isDirty = false;
  #alone: Disposable | undefined;

  constructor(paths: ProtectedPaths, options: GuardOptions) {
    this.#paths = paths;
    this.#options = options;
  }

  /** Before a command. When this throws it must not run. */
  begin(signal = new AbortController().signal): Promise<readonly RepositoryFinding[]> {
    return this.#paths.turns.run(async () => {
      const findings = this.#isDirty ? await this.#restore() : [];
      if (this.#running === 0 && !this.#isDirty) this.#guarded = await this.#remember(signal);
      this.#running++;
      return findings;
    });
  }

  /** Takes second names from files, by which commands could go on changing them: of a killed run nobody did. */
  separate(signal: AbortSignal): Promise<readonly RepositoryFinding[]> {
    return this.#paths.turns.run(async () => {
      const guarded = await this.#remember(signal, { isMounted: false });
      this.#guarded = guarded.map((each) => ({ ...each, memory: withOneName(each.memory) }));
      const findings = await this.#restore();
      this.#guarded = [];
      return findings;
    });
  }

  /** After a command, and everything that it started. */
  end(): Promise<readonly RepositoryFinding[]> {
    return this.#paths.turns.run(async () => {
      this.#running--;
      return this.#restore();
    });
  }

  /** While commands run. Later it would undo what the user does. */
  restore(): Promise<readonly RepositoryFinding[]> {
    return this.#paths.turns.run(async () => (this.#running > 0 || this.#isDirty ? this.#restore() : []));
  }

  async #remember(
    signal: AbortSignal,
    { isMounted = false }: Mounted = this.#options,
  ): Promise<readonly GuardedPath[]> {
    const { open, also = [], named, alone } = this.#options;
    const whole = this.#paths.entries
      .filter(({ path, kind }) => !this.#isOpen(path) && (!isMounted || kind === "symlink"))
      .map(({ path }) => path);
    const parts = open === undefined ? [] : guardedParts(open);
    const all = new Set([...also, ...(named?.() ?? [])]);
    const others = [...all].filter((path) => !whole.some((above) => isBelow(path, above)));
    if (whole.length + parts.length + others.length > 0) this.#alone ??= await alone?.(signal);
    using failed = new DisposableStack();
    failed.defer(() => this.#letOthers());
    const last = new Map(this.#guarded.map(({ path, memory }) => [path, memory]));
    const room = { bytes: mostBytes };
    const guarded: GuardedPath[] =
      open === undefined ? [] : [await guardPath(open, this.#paths, async (...at) => rememberPlace(...at))];
    for (const path of [...whole, ...parts, ...others]) {
      const one = await guardPath(path, this.#paths, (...at) => remember(...at, { last: last.get(path), room }));
      guarded.push({ ...one, isNamed: others.includes(path) });
    }
    failed.move();
    // A directory in another's place is moved back, before something is made again there.
    const isDirectory = ({ kind }: GuardedPath) => kind === "directory";
    return [...guarded.filter(isDirectory), ...guarded.filter((one) => !isDirectory(one))];
  }

  #isOpen(path: string): boolean {
    return this.#options.open !== undefined && isBelow(path, this.#options.open);
  }

  async #restore(): Promise<readonly RepositoryFinding[]> {
    const { open, isBusy } = this.#options;
    this.#isDirty = isBusy?.() === true;
    const restoring = { paths: this.#paths, quarantine: this.#options.quarantine };
    const byRepository = new Map<string, Restoration[]>();
    for (const guarded of this.#guarded) {
      const repository = open !== undefined && this.#isOpen(guarded.path) ? open : guarded.path;
      const restorations = byRepository.get(repository) ?? [];
      byRepository.set(repository, restorations);
      restorations.push(...(await restorePath(guarded, restoring)));
    }
    if (this.#running === 0 && !this.#isDirty) this.#letOthers();
    return [...byRepository].flatMap(([repository, restorations]) => findingsOf(repository, restorations));
  }

  #letOthers(): void {
    this.#alone?.[Symbol.dispose]();
    this.#alone = undefined;
  }
}

/** All guarded files together; what is beyond is known by its signature only. */
const mostBytes = 64 * 1024 * 1024;

const isDone = ({ problem }: Restoration): boolean => problem === undefined;

function findingsOf(repository: string, restorations: readonly Restoration[]): readonly RepositoryFinding[] {
  const nameOf = (path: string) => (isBelow(path, repository) ? relative(repository, path) || basename(path) : path);
  const named = (some: readonly Restoration[]) => [...new Set(some.map(({ path }) => nameOf(path)))];
  if (restorations.length === 0) return [];
  const parts = named(restorations.filter(isDone));
  const lost = named(restorations.filter((one) => !isDone(one)));
  const error = restorations.find(({ problem }) => problem?.kind === "refused")?.problem?.reason;
  return [{ kind: "restored", path: repository, parts, lost, ...(error !== undefined && { error }) }];
}
