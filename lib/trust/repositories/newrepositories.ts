import { readdirSync } from "node:fs";
import { join } from "node:path";
import { SerialQueue } from "../../async/serialqueue.ts";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import { unlessRefused } from "../../errors.ts";
import { folded, isBelow } from "../../files/path.ts";
import { isStandIn } from "../../sandbox/layout/standin.ts";
import type { Finding } from "./finding.ts";
import { dangersIn, judgeRepository } from "./judge.ts";
import { guardedParts } from "./parts.ts";
import type { ProtectedPaths } from "./protected.ts";
import { moveToQuarantine } from "./quarantine.ts";
import type { Found } from "./tree.ts";
import { identityAt } from "./identity.ts";

export type RepositoryOptions = {
  /** Where what must not stay is moved to: best on the same file system, and where no command can reach it. */
  quarantine: string;
  /** The git directory in which commands may commit, if there is one. */
  open?: string | undefined;
};

/**
 * Repositories that appear during a run: legal work, and a trap for the user's next `git status`. After each command all
 * of them are judged anew, since they are the commands' to change.
 */
export class NewRepositories {
  readonly #paths: ProtectedPaths;
  readonly #options: RepositoryOptions;
  readonly #guarded: readonly string[];
  /** What needs no telling any more, or was so before any command. */
  readonly #told: Set<string>;
  readonly #queue = new SerialQueue();

  /** To be made when the protected paths were looked for the first time, before any command. */
  constructor(paths: ProtectedPaths, options: RepositoryOptions) {
    if (paths.isReached(options.quarantine)) throw new Error("commands could reach the quarantine");
    this.#paths = paths;
    this.#options = options;
    this.#guarded = options.open === undefined ? [] : guardedParts(options.open);
    this.#told = new Set([...this.#openDangers().map(keyOf), ...paths.unreadable.map(blindSpot).map(keyOf)]);
  }

  /** What the commands since the last look have left behind; two looks at a time take turns. */
  look(signal: AbortSignal): Promise<readonly Finding[]> {
    return this.#queue.run(() => this.#look(signal));
  }

  async #look(signal: AbortSignal): Promise<readonly Finding[]> {
    await this.#paths.look(signal);
    const findings: Finding[] = [];
    for (const danger of this.#openDangers()) findings.push(...(await this.#close(danger)));
    const arrivals = this.#arrivals();
    for (const found of arrivals.slice(0, mostArrivals)) {
      findings.push(...(await this.#receive(found)));
      await yieldToEventLoop(signal);
    }
    if (arrivals.length > mostArrivals) findings.push(...this.#paths.roots.map(tooMany));
    findings.push(...this.#paths.unreadable.map(blindSpot));
    return findings.filter((finding) => this.#isNews(finding));
  }

  #isNews(finding: Finding): boolean {
    if (finding.kind === "quarantined") return true;
    const isNews = !this.#told.has(keyOf(finding));
    this.#told.add(keyOf(finding));
    return isNews;
  }

  /**
   * What something new leads to is judged with that, and may be anything; but what a protected one leads to since now is
   * obeyed.
   */
  #arrivals(): readonly Found[] {
    const known = new Set(this.#paths.known.map(({ identity }) => identity));
    return this.#paths.appeared.filter(({ from }) => from.length === 0 || from.some((identity) => known.has(identity)));
  }

  async #receive(found: Found): Promise<readonly Finding[]> {
    // It may have been in something that was moved away just now.
    if (identityAt(found.path) !== found.identity || isStandIn(found.path)) return [];
    const { roots, known } = this.#paths;
    const trusted = new Set(known.map(({ path }) => path));
    const reason = found.form === "koda" ? settings : judgeRepository(found.path, { roots, trusted });
    if (reason === undefined) return [{ kind: "new", path: found.path }];
    return this.#quarantine(this.#leastOf(found), reason);
  }

  /** A directory of the user's that was made to look like a repository stays, without what makes it look so. */
  #leastOf({ path, form, identity }: Found): string {
    if (form !== "bare" || !this.#paths.wasThere(identity)) return path;
    const head = unlessRefused(() => readdirSync(path))?.find((name) => folded(name) === "head");
    return join(path, head ?? "HEAD");
  }

  /** What is new and dangerous in the repository that commands may commit to; a `Guard` holds the rest. */
  #openDangers(): readonly OpenDanger[] {
    const { open } = this.#options;
    if (open === undefined) return [];
    const { roots, known } = this.#paths;
    const trusted = new Set(known.map(({ path }) => path).filter((path) => !isBelow(path, open)));
    return dangersIn(open, { roots, trusted })
      .map(({ part, reason }): OpenDanger => ({ path: join(open, part), reason }))
      .filter(({ path }) => !this.#guarded.some((guarded) => isBelow(path, guarded)));
  }

  async #close(danger: OpenDanger): Promise<readonly Finding[]> {
    if (this.#told.has(keyOf(danger))) return [];
    const { path, reason } = danger;
    if (path !== this.#options.open) return this.#quarantine(path, reason);
    return [{ kind: "failed", path, reason, problem: "does not move a whole repository away" }];
  }

  async #quarantine(path: string, reason: string): Promise<readonly Finding[]> {
    const identity = identityAt(path);
    return identity === undefined ? [] : [await moveToQuarantine({ path, identity, reason }, this.#options.quarantine)];
  }
}

type OpenDanger = { path: string; reason: string };

const settings = "koda would take settings from it at its next start";

function keyOf({ path, reason = "" }: { path: string; reason?: string }): string {
  return `${path}: ${reason}`;
}

/** They are judged anew after each command, and no command is to hold up a run with them. */
const mostArrivals = 2_000;

function tooMany(root: string): Finding {
  const reason = `commands made more than ${mostArrivals} repositories`;
  return { kind: "failed", path: root, reason, problem: "could not check them all" };
}

function blindSpot(path: string): Finding {
  return { kind: "failed", path, reason: "there may be repositories in it", problem: "could not look into it" };
}
