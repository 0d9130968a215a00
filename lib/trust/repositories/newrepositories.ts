import { readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import { unlessRefused } from "../../errors.ts";
import { folded, isBelow } from "../../files/path.ts";
import type { RepositoryFinding } from "./finding.ts";
import { type GitConfigurations, namedByUser, readOnce, type ReadConfigurations, templateHooks } from "./named.ts";
import { leadsTo } from "../../git/places.ts";
import { areSame } from "./same.ts";
import { dangersIn, judgeRepository } from "./judge.ts";
import { guardedParts } from "./parts.ts";
import { gitInside, whyOtherDangerous } from "./otherkinds.ts";
import type { ProtectedPaths } from "./protected.ts";
import { moveToQuarantine } from "./quarantine.ts";
import { identityAt } from "./identity.ts";
import { makeReadable, renameOdd } from "./blind.ts";
import type { FoundRepository } from "./tree.ts";
import { isHarmlessEntry } from "../../sandbox/policy/toolconfig.ts";

export type RepositoryOptions = {
  /** The directory that dangerous entries are moved to: out of every command's reach, best on the same file system. */
  quarantine: string;
  /** The git directory in which commands may commit, if there is one. */
  open?: string | undefined;
  /** The user's own configuration, which holds for new repositories too. */
  git?: GitConfigurations;
};

type Reception = { isJudged: boolean; isGlance: boolean; git: ReadConfigurations; templates: readonly string[] };

/** Reasons that may come of a file that git is still writing. */
const unfinished = /could not parse|cannot be parsed|does not exist|cannot be read/;

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
  /** Those that were perhaps only half written at the last glance. */
  readonly #suspects = new Set<string>();
  /** Paths where koda could not look before any command, and no command either. */
  readonly #blind: ReadonlySet<string>;

  /** Made before any command, when the protected paths have been looked for the first time. */
  constructor(paths: ProtectedPaths, options: RepositoryOptions) {
    if (paths.isReached(options.quarantine)) throw new Error("commands could reach the quarantine");
    this.#paths = paths;
    this.#options = options;
    this.#guarded = options.open === undefined ? [] : guardedParts(options.open);
    this.#reported = new Set(this.#openDangers().map(keyOf));
    this.#blind = new Set([...paths.unreadable, ...paths.odd.map(bytewise)]);
  }

  /**
   * Judges everything that has come since the last look. A glance, while commands run, changes no modes: a test of the
   * user's may need a directory that cannot be read.
   */
  look(signal: AbortSignal, { isGlance = false } = {}): Promise<readonly RepositoryFinding[]> {
    return this.#paths.turns.run(() => this.#look(signal, isGlance));
  }

  async #look(signal: AbortSignal, isGlance: boolean): Promise<readonly RepositoryFinding[]> {
    await this.#paths.look(signal);
    const findings = await this.#openBlind(signal, isGlance);
    const git = readOnce(this.#options.git ?? noConfigurations);
    const templates = templateHooks(git, this.#paths.roots);
    for (const danger of this.#openDangers()) findings.push(...this.#close(danger));
    for (const [index, found] of this.#arrivals().entries()) {
      findings.push(...this.#receive(found, { isJudged: index < mostArrivals, isGlance, git, templates }));
      await yieldToEventLoop(signal);
    }
    return withOneOfConfig(findings.filter((finding) => this.#isUnreported(finding)));
  }

  /** Directories that commands made so that koda cannot look into them, and what is in those, are made readable. */
  async #openBlind(signal: AbortSignal, isGlance: boolean): Promise<RepositoryFinding[]> {
    const findings: RepositoryFinding[] = [];
    for (let round = 0; round < mostRounds; round++) {
      const { unreadable, odd: unnamed } = this.#paths;
      const odd = unnamed.filter((path) => !this.#blind.has(bytewise(path))).flatMap((path) => renameOdd(path) ?? []);
      const closed = isGlance ? [] : unreadable.filter((path) => !this.#blind.has(path));
      findings.push(...odd);
      const opened = closed.filter(makeReadable);
      for (const path of closed) if (!opened.includes(path)) findings.push(...this.#quarantine(path, unseen));
      if (odd.length + closed.length === 0) break;
      await this.#paths.look(signal);
    }
    return findings;
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

  /** One that comes after too many others is not judged, and not trusted either. */
  #receive(found: FoundRepository, { isJudged, isGlance, git, templates }: Reception): readonly RepositoryFinding[] {
    // It may have been in something that was moved away just now.
    if (identityAt(found.path) !== found.identity) return [];
    if (found.form === "config") return this.#receiveConfig(found);
    const { roots, known } = this.#paths;
    const trusted = new Set(known.map(({ path }) => path));
    const judge = (path: string) => judgeRepository(path, { roots, trusted, templates });
    const reason = isJudged ? whyDangerous(found, { git, trusted, judge }) : tooMany;
    if (reason === undefined) return [{ kind: "new", path: found.path }];
    const isUnfinished = found.form === "other" || unfinished.test(reason);
    if (isGlance && isUnfinished && !this.#suspects.has(found.identity)) {
      this.#suspects.add(found.identity);
      return [];
    }
    return this.#quarantine(this.#leastOf(found), reason);
  }

  /** A new directory may have come with all that is in it, as a clone does: there it is for the user to look at. */
  #receiveConfig({ path, kind }: FoundRepository): readonly RepositoryFinding[] {
    if (kind === "directory" && isHarmlessConfig(path)) return [];
    return this.#paths.isOld(dirname(path))
      ? this.#quarantine(path, otherTools)
      : [{ kind: "config", path, others: 0 }];
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

  #close(danger: OpenDanger): readonly RepositoryFinding[] {
    if (this.#reported.has(keyOf(danger))) return [];
    const { path, reason } = danger;
    if (path !== this.#options.open) return this.#quarantine(path, reason);
    return [{ kind: "failed", path, reason, problem: "does not move a whole repository away" }];
  }

  #quarantine(path: string, reason: string): readonly RepositoryFinding[] {
    const identity = identityAt(path);
    return identity === undefined ? [] : [moveToQuarantine({ path, identity, reason }, this.#options.quarantine)];
  }
}

const noConfigurations: GitConfigurations = { home: "/", files: [] };

type Known = { git: ReadConfigurations; trusted: ReadonlySet<string> };
type Judging = Known & { judge: (path: string) => string | undefined };

function whyDangerous(found: FoundRepository, { judge, ...known }: Judging): string | undefined {
  if (found.form === "koda") return settings;
  if (found.form !== "other") return judge(found.path) ?? whyUsers(found, known);
  const inner = gitInside(found.path);
  return whyOtherDangerous(found.path) ?? (inner === undefined ? undefined : judge(inner));
}

/**
 * Why the user's own configuration makes it dangerous, as with a relative path of hooks for all repositories. A work
 * tree may have a copy of the hooks that the project itself has.
 */
function whyUsers({ path, form }: FoundRepository, { git, trusted }: Known): string | undefined {
  const top = dirname(path);
  const tops = leadsTo(path).flatMap((goal) => (trusted.has(goal) ? [dirname(goal)] : []));
  const isUsers = (named: string) => tops.some((own) => areSame(join(own, relative(top, named)), named));
  const named = form === "git" ? namedByUser(path, git).find((each) => !isUsers(each)) : undefined;
  return named && `your own configuration of git names ${JSON.stringify(named)}, which git would run or obey`;
}

type OpenDanger = { path: string; reason: string };

const otherTools = "other programs would run what it says (--allow-config allows changes)";

/** A clone of many packages is reported once. */
function withOneOfConfig(findings: readonly RepositoryFinding[]): readonly RepositoryFinding[] {
  const isConfig = ({ kind }: RepositoryFinding) => kind === "config";
  const first = findings.find(isConfig);
  if (first?.kind !== "config") return findings;
  const rest = findings.filter((finding) => !isConfig(finding));
  return [...rest, { ...first, others: findings.length - rest.length - 1 }];
}

/** Has it only entries that no tool would run? Not known of one that cannot be read. */
function isHarmlessConfig(path: string): boolean {
  return unlessRefused(() => readdirSync(path))?.every((name) => isHarmlessEntry(path, name)) ?? false;
}

const settings = "koda would take settings from it at its next start";

function keyOf({ path, reason = "" }: { path: string; reason?: string }): string {
  return `${path}: ${reason}`;
}

/** They are judged again after each command, and no command is to hold up a run with them. */
const mostArrivals = 2_000;
const tooMany = `commands made more than ${mostArrivals} repositories`;

/** Directories in directories, each of which can be seen only when the one above it can be read. */
const mostRounds = 100;
const unseen = "koda cannot look into it, and there may be repositories in it";

function bytewise(path: Buffer): string {
  return path.toString("latin1");
}
