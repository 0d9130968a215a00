import { mkdirSync } from "node:fs";
import { safeSearchPath } from "../../files/program.ts";
import { isDiskFull, speaksOfLackOfSpace } from "../../files/space.ts";
import { findGit, type Git } from "../../git/program.ts";
import { AttemptFailure, isOldGit, oldGitProblem } from "./failure.ts";
import { type ProgramEnd, runProgram } from "./program.ts";

/** git as the user has set it up, with their credentials: for what reaches another repository. */
export type UserGit = {
  git: Git;
  env: Readonly<Record<string, string | undefined>>;
};

/** The git on the search path; throws the fault of a machine that has none. */
export function userGit(env: UserGit["env"]): UserGit {
  const git = findGit(env.PATH, []);
  if (git === undefined)
    throw new AttemptFailure("git", `git was not found in ${safeSearchPath(env.PATH ?? "", []).join(":")}`);
  return { git, env };
}

type RemoteRun = {
  /** A git directory of koda's own. */
  directory: string;
  signal: AbortSignal;
};

/** The longest that a repository may take to answer, and to come over. */
const limitMs = 30 * 60_000;

/** Runs one command that reaches another repository, and throws the failure of a task that cannot. */
export async function runRemote(user: UserGit, run: RemoteRun, args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await tryRemote(user, run, args);
  if (status === 0) return stdout;
  throw remoteFailure(args[0] ?? "", run, { status, stdout, stderr });
}

export async function tryRemote(user: UserGit, run: RemoteRun, args: readonly string[]): Promise<ProgramEnd> {
  mkdirSync(run.directory, { recursive: true });
  const argv = [user.git, ...settings, ...args];
  return await runProgram(argv, { cwd: run.directory, env: environment(user.env, run), limitMs, signal: run.signal });
}

/** git also passes on the server's words, so only the disk itself can tell that it is full. */
export function remoteFailure(
  what: string,
  { directory }: Pick<RemoteRun, "directory">,
  { status, stderr }: ProgramEnd,
): AttemptFailure {
  const ended = typeof status === "number" ? `failed with exit code ${status}` : `was stopped (${status})`;
  const message = `git ${what} ${ended}: ${withoutPasswords(stderr.trim()).slice(-1000)}`;
  if (isOldGit(status, stderr)) return new AttemptFailure("git", oldGitProblem(message));
  if (speaksOfLackOfSpace(stderr) && isDiskFull(directory)) return new AttemptFailure("disk", message);
  return new AttemptFailure(outage.test(stderr) ? "unreachable" : "repository", message);
}

/** The words of git, curl and ssh when another try may work in a while. */
const outage = new RegExp(
  [
    "could not resolve host|temporary failure in name resolution",
    "(?:failed|couldn't) (?:to )?connect|connection (?:refused|reset|timed out|closed)|operation timed out",
    "network is unreachable|no route to host",
    "requested URL returned error: (?:429|5\\d\\d)",
    "unexpected disconnect|early EOF",
  ].join("|"),
  "i",
);

/** Nothing of a repository may run, and what git would do beside its work may not either. */
const settings = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "init.templateDir=",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "push.recurseSubmodules=no",
  "gc.auto=0",
  "maintenance.auto=false",
  "protocol.ext.allow=never",
].flatMap((setting) => ["-c", setting]);

/** Never asks: ssh has no terminal either, and so it acts as in its batch mode. */
function environment(env: UserGit["env"], { directory }: RemoteRun): Record<string, string | undefined> {
  return {
    ...withoutRepository(env),
    KODA_STORE: undefined,
    GIT_DIR: directory,
    GIT_TERMINAL_PROMPT: "0",
    // A repository on this machine could name the program that fetches what it lacks.
    GIT_NO_LAZY_FETCH: "1",
    GCM_INTERACTIVE: "never",
    SSH_ASKPASS_REQUIRE: "never",
    LC_ALL: "C",
  };
}

/** Without what is set where koda is started by a hook of some repository. */
export function withoutRepository(env: UserGit["env"]): UserGit["env"] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ofRepository.test(name)));
}

const ofRepository =
  /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|PREFIX|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|CEILING_DIRECTORIES|TEMPLATE_DIR)$/;

/** Addresses without the names and passwords in them. */
export function withoutPasswords(text: string): string {
  return text.replaceAll(/(?<=:\/\/)[^\s/@]+@/g, "***@");
}
