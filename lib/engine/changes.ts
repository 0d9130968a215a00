import { messageOf } from "../errors.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import type { IsOwn, Snapshot } from "../session/worktree.ts";
import type { Event } from "./event.ts";
import { ownPlace } from "./ownplace.ts";
import type { Settings } from "./settings.ts";

/** What a turn changes in the project, whoever changes it: tools or commands. */
export type Changes = AsyncDisposable & {
  /** Remembers how the project looks now, once a turn: before the first call that may write. */
  watch(signal: AbortSignal): Promise<void>;
  /** What is different since then; nothing when nothing was watched or nothing changed. */
  collect(): Promise<Event[]>;
  /** How many files were different at the last look. */
  readonly files: number;
};

/** A run that was stopped still tells what it changed, but does not hold up its end for long. */
const collectMs = 10_000;

/** The files that koda itself writes in the project. */
export type OwnOutput = {
  /** Finds them. Programs that write koda's output on (`| tee log.txt`) may come and go, so it is done repeatedly. */
  look(): void;
  has: IsOwn;
};

type Given = { settings: Pick<Settings, "dataDirectory" | "env">; own: OwnOutput };

export function trackChanges(policy: Policy, { settings: { dataDirectory, env }, own }: Given): Changes {
  let snapshot: Snapshot | undefined;
  let problem: string | undefined;
  let files = 0;

  return {
    get files() {
      return files;
    },

    async watch(signal) {
      if (snapshot !== undefined || problem !== undefined) return;
      try {
        const { takeSnapshot } = await import("../session/worktree.ts");
        const temporary = ownPlace(policy, dataDirectory, { lasting: false });
        own.look();
        snapshot = await takeSnapshot({ policy, searchPath: env.PATH, temporary, isOwn: own.has }, signal);
      } catch (error) {
        signal.throwIfAborted();
        // The work itself does not depend on it; that nobody can say what changed is said at the end.
        problem = messageOf(error);
      }
    },

    async collect() {
      if (problem !== undefined) return [notice(`Cannot tell what this turn changed: ${problem}`)];
      if (snapshot === undefined) return [];
      try {
        const { diffSnapshot } = await import("../session/worktree.ts");
        own.look();
        const { files: changed, patch, notes } = await diffSnapshot(snapshot, AbortSignal.timeout(collectMs));
        files = changed.length;
        const told: Event[] = notes.map(notice);
        return files === 0 ? told : [...told, { type: "diff", files: [...changed], patch }];
      } catch (error) {
        return [notice(`Cannot tell what this turn changed: ${messageOf(error)}`)];
      }
    },

    async [Symbol.asyncDispose]() {
      await snapshot?.[Symbol.asyncDispose]();
    },
  };
}

function notice(message: string): Event {
  return { type: "notice", level: "warn", code: "changes", message };
}
