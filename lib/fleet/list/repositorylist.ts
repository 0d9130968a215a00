import type { TaskList } from "./tasklist.ts";
import { checkBranches } from "./branches.ts";
import { ListErrors, shownJson } from "./listerrors.ts";
import { listLines } from "./lines.ts";
import { isRevision, repositoryOf } from "./gitnames.ts";
import type { RowReading, TaskOptions } from "./row.ts";
import { KodaError } from "../../errors.ts";
import type { FleetTask } from "../task.ts";

type ListedRepository = { line: number; repo: string; ref?: string; written: string };

type RepositoryList = Pick<RowReading, "directory"> & {
  name: string;
  /** The options of all tasks. */
  shared: TaskOptions;
  defaults: string;
  prompt: string;
  /** The branch that each task publishes. */
  branch?: string | undefined;
};

/** One prompt for many repositories: a line is a URL or a path, then a ref if it is not the default branch. */
export async function readRepositoryList(bytes: Uint8Array, reading: RepositoryList): Promise<TaskList> {
  const { name, defaults, prompt, branch, shared } = reading;
  const repositories = repositoriesOf(bytes, reading);
  if (repositories.length === 0)
    throw new KodaError("usage", `There is no repository in ${name}: expected one per line`);
  const { provider, ...flags } = shared;
  const keys = keysOf(repositories);
  const rest = { ...flags, after: [], group: provider ?? "default", labels: [], ...publishing(branch) };
  const tasks = repositories.map(({ repo, ref }, index) => {
    const place = { repo, ...(ref !== undefined && { ref }) };
    return { key: keys[index] ?? "", prompt, ...place, ...rest };
  });
  const written = repositories.map(({ written: place, ref }) => [place, ref ?? null]);
  const content = [defaults, prompt, written, ...(branch === undefined ? [] : [branch])];
  const digest = new Bun.CryptoHasher("sha256").update(JSON.stringify(content)).digest("hex");
  return { tasks, digest };
}

function repositoriesOf(bytes: Uint8Array, { name, directory, branch }: RepositoryList): ListedRepository[] {
  const errors = new ListErrors(name);
  const repositories: ListedRepository[] = [];
  for (const { line, text } of listLines(bytes, errors)) {
    const [place = "", ref, ...more] = text.trim().split(/\s+/);
    if (place.startsWith("#")) continue;
    const found = repositoryOf(place, directory);
    if ("problem" in found) errors.add(line, found.problem);
    else if (more.length > 0 || (ref !== undefined && !isRevision(ref)))
      errors.add(
        line,
        `${shownJson(text.trim())}: expected a repository, optionally followed by a branch, tag or commit`,
      );
    else repositories.push({ line, repo: found.repo, written: place, ...(ref !== undefined && { ref }) });
  }
  checkBranches(
    repositories.map((each) => ({ line: each.line, task: { ...each, ...publishing(branch) } })),
    errors,
  );
  errors.assertNone();
  return repositories;
}

function publishing(branch: string | undefined): Pick<FleetTask, "publish"> {
  return branch === undefined ? {} : { publish: { branch } };
}

/** The last part of each address; where several have the same, as many parts as tell them apart, then the ref. */
function keysOf(repositories: readonly ListedRepository[]): string[] {
  const keys = repositories.map((each) => keyOf(each, 1));
  for (const more of [2, 3, "ref"] as const) {
    const uses = Map.groupBy(keys.keys(), (index) => (keys[index] ?? "").toLowerCase());
    for (const indexes of uses.values()) {
      if (indexes.length === 1) continue;
      for (const index of indexes) {
        const each = repositories[index];
        if (each !== undefined) keys[index] = keyOf(each, more);
      }
    }
  }
  return numbered(keys);
}

const longestKey = 48;
/** Room for a number. */
const longestStart = longestKey - 6;

function keyOf({ written, ref }: ListedRepository, parts: 1 | 2 | 3 | "ref"): string {
  const names = written
    .replace(/^[a-z][\w+.-]*:\/\//i, "")
    .replace(/\.git\/?$|\/+$/, "")
    .split(/[/:\\]/)
    .filter((name) => name !== "" && name !== "." && name !== "..");
  const wanted = [
    ...names.slice(parts === "ref" ? -2 : -parts),
    ...(parts === "ref" && ref !== undefined ? [ref] : []),
  ];
  const key = wanted.join("-").replace(/[^A-Za-z0-9._-]+/g, "-");
  return (
    key
      .replace(/^[.-]+/, "")
      .slice(-longestStart)
      .replace(/^[.-]+/, "") || "repository"
  );
}

/** The same repository twice is two tasks. A dot and a number behind a key would be an attempt of it. */
function numbered(keys: readonly string[]): string[] {
  const taken = new Set<string>();
  return keys.map((wanted) => {
    const key = wanted.replace(/\.(\d+)$/, "-$1");
    let unique = key;
    for (let number = 2; taken.has(unique.toLowerCase()); number++) unique = `${key}-${number}`;
    taken.add(unique.toLowerCase());
    return unique;
  });
}
