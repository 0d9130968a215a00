import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterGrace } from "../../async/aftergrace.ts";
import { unlessAborted } from "../../async/unlessaborted.ts";
import type { RepositoryGuard } from "../../engine/guard.ts";
import type { Notice } from "../../engine/event.ts";
import { unlessRefused } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import type { Backend } from "../../sandbox/backend.ts";
import type { Policy } from "../../sandbox/policy/policy.ts";
import { configAt, isHidden } from "../../sandbox/policy/reach.ts";
import { shownPath } from "../../trust/path.ts";
import { changedFiles, type ConfigFiles, listConfigFiles } from "../../trust/repositories/configfiles.ts";
import { describeFinding, levelOf, type RepositoryFinding } from "../../trust/repositories/finding.ts";
import { Guard } from "../../trust/repositories/guard.ts";
import { gitConfigurations, pathsNamedByGit } from "../../trust/repositories/named.ts";
import { NewRepositories } from "../../trust/repositories/newrepositories.ts";
import { guardedParts } from "../../trust/repositories/parts.ts";
import { ProtectedPaths } from "../../trust/repositories/protected.ts";
import { KnownRecord } from "./knownrecord.ts";
import { ownPlace } from "./ownplace.ts";
import { waitToBeAlone } from "./alone.ts";

export type WatchOptions = {
  policy: Policy;
  backend: Pick<Backend, "filesystem" | "guards">;
  dataDirectory: string | undefined;
  /** The user's variables, which may name configurations of git. */
  env: Readonly<Record<string, string | undefined>>;
  /** Aborted when everything is to stop. */
  stop: AbortSignal;
  /** Does a command run that outlives its call? */
  isBusy: () => boolean;
};

type Watched = {
  paths: ProtectedPaths;
  guard: Guard;
  newcomers: NewRepositories;
  record: KnownRecord | undefined;
  /** Of other tools, before any command. */
  config: ConfigFiles;
};

/** New repositories are judged at least this often while a command runs, for the prompts and editors of the user. */
const patrolMs = 1_000;

/** Looking takes no larger share of the time, as long as the tree is not so large that it would be seldom. */
const patrolShare = 0.1;
const longestRestMs = 3_000;

/**
 * Guards repositories: those that exist when the run starts are protected in every command, and new ones are judged
 * while commands run and after each. The first walk through the writable roots begins with the first call that may
 * write, or earlier by `begin`.
 */
export class RepositoryWatch implements RepositoryGuard {
  readonly #options: WatchOptions;
  readonly #open: string | undefined;
  readonly #life = new AbortController();
  readonly #limit: AbortSignal;
  #watched: Promise<Watched> | undefined;
  #findings: RepositoryFinding[] = [];
  #calls = 0;
  #failure: { error: unknown } | undefined;
  #patrol: Promise<void> | undefined;
  #isUsed = false;
  #isUnfinished = false;
  #changedConfig: readonly string[] = [];

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#limit = afterGrace(options.stop, graceMs);
    this.#open = openRepository(options.policy);
  }

  /** Known when everything has stopped. */
  get changedConfig(): readonly string[] {
    return this.#changedConfig.map((path) => shownPath(path, this.#options.policy));
  }

  begin(): Promise<Watched> {
    return (this.#watched ??= this.#begin());
  }

  async before(signal: AbortSignal): Promise<void> {
    const watched = await unlessAborted(this.begin(), signal);
    this.#isUsed = true;
    const isBusy = this.#calls > 0 || this.#options.isBusy();
    const isInPlace = watched.paths.areInPlace();
    if (!isBusy && !isInPlace) await watched.paths.lookAfterUser(this.#limit);
    if (this.#options.isBusy() || !isInPlace) await this.#look(watched);
    this.#findings.push(...(await watched.guard.begin(signal)));
    watched.record?.touch();
    this.#calls++;
    this.#patrol ??= this.#walkRounds(watched).catch((error: unknown) => void (this.#failure ??= { error }));
  }

  async after(): Promise<readonly Notice[]> {
    const watched = await this.begin();
    this.#findings.push(...(await watched.guard.end()));
    this.#calls--;
    await this.#look(watched);
    return this.#notices();
  }

  async last(): Promise<readonly Notice[]> {
    if (!this.#isUsed) {
      this.#life.abort();
      void this.#watched?.then(({ record }) => record?.[Symbol.dispose]()).catch(() => undefined);
      return [];
    }
    const watched = await this.begin();
    this.#life.abort();
    await this.#patrol;
    this.#findings.push(...(await watched.guard.restore()));
    await this.#look(watched);
    const { paths, config } = watched;
    this.#changedConfig = changedFiles(config, listConfigFiles(paths.configs));
    // The next run judges what this one could not.
    if (!this.#isUnfinished) watched.record?.[Symbol.dispose]();
    return this.#notices();
  }

  async #begin(): Promise<Watched> {
    const { policy, backend, dataDirectory, env, isBusy } = this.#options;
    const git = gitConfigurations(env, policy.home);
    const place = ownPlace(policy, dataDirectory, { lasting: true });
    const quarantine = join(place, "koda-quarantine");
    const record = this.#record();
    const found = {
      except: [quarantine],
      config: { isConfig: (path: string) => configAt(path, policy) === path, isOpen: policy.allowConfig },
      ...(record && { isKnown: record.isKnown.bind(record) }),
    };
    const paths = await ProtectedPaths.find(policy.write, this.#life.signal, found);
    const lasting = policy.write.filter((root) => root !== policy.tmp);
    record?.write(lasting, paths.known);
    this.#protect(paths);
    const held = policy.readonly.filter((path) => backend.guards || !isThere(path));
    const also = [...held, ...pathsNamedByGit(paths.known, policy.write, git)];
    const named = onceFor(paths, () => pathsNamedByGit(paths.known, policy.write, git));
    const options = { quarantine, open: this.#open, git };
    const alone = (signal: AbortSignal) => waitToBeAlone(dataDirectory ?? place, lasting, signal);
    const guard = new Guard(paths, {
      ...options,
      isMounted: !backend.guards,
      isBusy,
      also,
      named,
      ...(record && { alone }),
    });
    const config = listConfigFiles(paths.configs);
    const watched = { paths, guard, newcomers: new NewRepositories(paths, options), record, config };
    if (record?.isNeeded(lasting) === true) {
      this.#findings.push(...(await guard.separate(this.#life.signal)));
      await this.#look(watched);
    }
    record?.settle(lasting);
    return watched;
  }

  /** Without a directory for it only a killed run goes unnoticed. */
  #record(): KnownRecord | undefined {
    const { policy, dataDirectory } = this.#options;
    if (dataDirectory === undefined || !existsSync(dataDirectory) || !isHidden(dataDirectory, policy)) return undefined;
    return unlessRefused(() => new KnownRecord(dataDirectory));
  }

  async #look({ paths, newcomers }: Watched): Promise<void> {
    try {
      this.#findings.push(...(await newcomers.look(this.#limit)));
    } catch (error) {
      if (!this.#limit.aborted) throw error;
      this.#isUnfinished = true;
      this.#findings.push({ kind: "failed", path: this.#options.policy.root, ...unfinished });
    }
    this.#protect(paths);
  }

  /** Looks now and then, until no command runs any more. */
  async #walkRounds(watched: Watched): Promise<void> {
    const { signal } = this.#life;
    for (let restMs = patrolMs; this.#calls > 0 || this.#options.isBusy();) {
      await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      watched.record?.touch();
      const startedAt = performance.now();
      this.#findings.push(...(await watched.guard.restore()));
      this.#findings.push(...(await watched.newcomers.look(this.#limit, { isGlance: true })));
      restMs = Math.min(Math.max(patrolMs, (performance.now() - startedAt) / patrolShare), longestRestMs);
    }
    this.#patrol = undefined;
  }

  #protect(paths: ProtectedPaths): void {
    const open = this.#open;
    const all = open === undefined ? paths.paths : [...outside(paths.paths, open), ...guardedParts(open)];
    const { repositories } = this.#options.policy;
    repositories.paths = all.filter(isThere);
    repositories.config = paths.entries.filter(({ form }) => form === "config").map(({ path }) => path);
  }

  #notices(): readonly Notice[] {
    if (this.#failure !== undefined) throw this.#failure.error;
    const { policy } = this.#options;
    return this.#findings.splice(0).map((finding) => noticeOf(finding, policy));
  }
}

/** Reads again when a repository is somewhere else than before. */
function onceFor(paths: ProtectedPaths, read: () => readonly string[]): () => readonly string[] {
  const places = () => paths.known.map(({ path }) => path).join("\0");
  let [last, found]: [string, readonly string[]] = [places(), []];
  return () => {
    if (places() !== last) [last, found] = [places(), read()];
    return found;
  };
}

function isThere(path: string): boolean {
  return unlessRefused(() => lstatSync(path, { throwIfNoEntry: false })) !== undefined;
}

/** A look may take this long when the run is being stopped. */
const graceMs = 2_000;

const unfinished = {
  reason: "commands may have left repositories there",
  problem: "was stopped before it had looked for them",
} as const;
/** The git directory that commands may commit to: the project's own. */
function openRepository({ root, allowGit }: Policy): string | undefined {
  const own = join(root, ".git");
  return allowGit && existsSync(own) && lstatSync(own).isDirectory() ? own : undefined;
}

function outside(paths: readonly string[], directory: string): string[] {
  return paths.filter((path) => !isBelow(path, directory));
}

function noticeOf(finding: RepositoryFinding, policy: Policy): Notice {
  const message = describeFinding(finding, policy);
  return { type: "notice", level: levelOf(finding), code: "repository", message };
}
