import { readdirSync } from "node:fs";
import { join } from "node:path";
import { SerialQueue } from "../../async/serialqueue.ts";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import { unlessRefused } from "../../errors.ts";
import { folded, isBelow } from "../../files/path.ts";
import { isStandIn } from "../../sandbox/layout/standin.ts";
import type { RepositoryFinding } from "./finding.ts";
import { dangersIn, judgeRepository } from "./judge.ts";
import { guardedParts } from "./parts.ts";
import type { ProtectedPaths } from "./protected.ts";
import { moveToQuarantine } from "./quarantine.ts";
import { identityAt } from "./identity.ts";
import type { FoundRepository } from "./tree.ts";

export type RepositoryOptions = {
  /** The directory that dangerous entries are moved to: out of every command's reach, best on the same file system. */
  quarantine: string;
  /** The git directory in which commands may commit, if there is one. */
  open?: string | undefined;
};

/**
 * Repositories that appear during a run: legal work, and a trap for the user's next `git status`. After each command
 * all of them are judged again, since they are the commands' to change.
 */
export class NewRepositories {
  readonly #paths: ProtectedPaths;
  readonly #options: RepositoryOptions;
  readonly #guarded: readonly string[];
  /** Findings that were reported, or that were so before any command. */
  readonly #reported: Set<string>;
  readonly #queue = new SerialQueue();

  /** Made before any command, when the protected paths have been looked for the first time. */
  constructor(paths: ProtectedPaths, options: RepositoryOptions) {
    if (paths.isReached(options.quarantine)) throw new Error("commands could reach the quarantine");
    this.#paths = paths;
    this.#options = options;
    this.#guarded = options.open === undefined ? [] : guardedParts(options.open);
    this.#reported = new Set([...this.#openDangers().map(keyOf), ...paths.unreadable.map(blindSpot).map(keyOf)]);
  }

  /** Judges everything that has come since the last look; two looks at a time take turns. */
  look(signal: AbortSignal): Promise<readonly RepositoryFinding[]> {
    return this.#queue.run(() => this.#look(signal));
  }

  async #look(signal: AbortSignal): Promise<readonly RepositoryFinding[]> {
    await this.#paths.look(signal);
    const findings: RepositoryFinding[] = [];
    for (const danger of this.#openDangers()) findings.push(...(await this.#close(danger)));
    const arrivals = this.#arrivals();
    for (const found of arrivals.slice(0, mostArrivals)) {
      findings.push(...(await this.#receive(found)));
      await yieldToEventLoop(signal);
    }
    if (arrivals.length > mostArrivals) findings.push(...this.#paths.roots.map(tooMany));
    findings.push(...this.#paths.unreadable.map(blindSpot));
    return findings.filter((finding) => this.#isUnreported(finding));
  }

  #isUnreported(finding: RepositoryFinding): boolean {
    if (finding.kind === "quarantined") return true;
    const isUnreported = !this.#reported.has(keyOf(finding));
    this.#reported.add(keyOf(finding));
    return isUnreported;
  }

  /**
   * The target of something new is judged with it, and may be anything; but the new target of a protected one would be
   * obeyed.
   */
  #arrivals(): readonly FoundRepository[] {
    const known = new Set(this.#paths.known.map(({ identity }) => identity));
    return this.#paths.appeared.filter(({ from }) => from.length === 0 || from.some((identity) => known.has(identity)));
  }

  async #receive(found: FoundRepository): Promise<readonly RepositoryFinding[]> {
    // It may have been in something that was moved away just now.
    if (identityAt(found.path) !== found.identity || isStandIn(found.path)) return [];
    const { roots, known } = this.#paths;
    const trusted = new Set(known.map(({ path }) => path));
    const reason = found.form === "koda" ? settings : judgeRepository(found.path, { roots, trusted });
    if (reason === undefined) return [{ kind: "new", path: found.path }];
    return this.#quarantine(this.#leastOf(found), reason);
  }

  /** A directory of the user's that was made to look like a repository stays, without what makes it look so. */
  #leastOf({ path, form, identity }: FoundRepository): string {
    if (form !== "bare" || !this.#paths.wasThere(identity)) return path;
    const head = unlessRefused(() => readdirSync(path))?.find((name) => folded(name) === "head");
    return join(path, head ?? "HEAD");
  }

  /** New dangers in the repository that commands may commit to; a `Guard` holds the rest. */
  #openDangers(): readonly OpenDanger[] {
    const { open } = this.#options;
    if (open === undefined) return [];
    const { roots, known } = this.#paths;
    const trusted = new Set(known.map(({ path }) => path).filter((path) => !isBelow(path, open)));
    return dangersIn(open, { roots, trusted })
      .map(({ part, reason }): OpenDanger => ({ path: join(open, part), reason }))
      .filter(({ path }) => !this.#guarded.some((guarded) => isBelow(path, guarded)));
  }

  async #close(danger: OpenDanger): Promise<readonly RepositoryFinding[]> {
    if (this.#reported.has(keyOf(danger))) return [];
    const { path, reason } = danger;
    if (path !== this.#options.open) return this.#quarantine(path, reason);
    return [{ kind: "failed", path, reason, problem: "does not move a whole repository away" }];
  }

  async #quarantine(path: string, reason: string): Promise<readonly RepositoryFinding[]> {
    const identity = identityAt(path);
    return identity === undefined ? [] : [await moveToQuarantine({ path, identity, reason }, this.#options.quarantine)];
  }
}

type OpenDanger = { path: string; reason: string };

const settings = "koda would take settings from it at its next start";

function keyOf({ path, reason = "" }: { path: string; reason?: string }): string {
  return `${path}: ${reason}`;
}

/** They are judged again after each command, and no command is to hold up a run with them. */
const mostArrivals = 2_000;

function tooMany(root: string): RepositoryFinding {
  const reason = `commands made more than ${mostArrivals} repositories`;
  return { kind: "failed", path: root, reason, problem: "could not check them all" };
}

function blindSpot(path: string): RepositoryFinding {
  return { kind: "failed", path, reason: "there may be repositories in it", problem: "could not look into it" };
}
