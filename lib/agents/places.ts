import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ProjectTrust } from "../config/trust.ts";
import { decodeUtf8, wholeCharacters } from "../config/utf8.ts";
import { reasonOf, unlessRefused } from "../errors.ts";
import { isBelow, isInFolded } from "../files/path.ts";
import { readRegularFile } from "../files/read.ts";
import { visibleLine } from "../visible.ts";

/** The user's own directories, and those of a project, in which definitions are looked for. */
export type DefinitionRequest = {
  /** The project, absolute and real. */
  readonly root: string;
  /** Empty where there is none. */
  readonly home: string;
  readonly configDirectory: string | undefined;
  readonly trust: ProjectTrust;
  /** Real paths that are hidden from the run by name. */
  readonly hide: readonly string[];
  /** The plugins, which may have skills and agents. */
  readonly plugins?: readonly { readonly scope: "project" | "user"; readonly directory: string }[];
};

type DefinitionKind = "skills" | "prompts" | "agents" | "plugins";

/** A directory of definitions; `shown` is its path in messages. */
type Place = { readonly scope: "project" | "user"; readonly path: string; readonly shown: string };

/** A file to read; `shown` is its path in messages. */
export type DefinitionFile = {
  readonly scope: "project" | "user";
  /** The name of its entry in the directory. */
  readonly entry: string;
  readonly shown: string;
  /** Real, as its directory, unless there is a problem. The file may be a link to one in another directory. */
  readonly path: string;
  readonly directory: string;
  /** That of all definitions beside it, where its own is no link to another place. */
  readonly place: string;
  readonly problem?: string;
};

type Found = { readonly files: readonly DefinitionFile[]; readonly notices: readonly string[] };

/** Far more than anybody keeps; the rest is not looked at. */
const mostEntries = 200;

/**
 * The files of a kind, the project's first. `fileOf` makes the path of an entry's file, relative to the directory. Of a
 * project that is not trusted there are none, and their names are recorded.
 */
export function findDefinitions(
  kind: DefinitionKind,
  fileOf: (entry: string) => string | undefined,
  request: DefinitionRequest,
): Found {
  const notices: string[] = [];
  const files = placesOf(kind, request).flatMap((place) => {
    const { entries, problem } = entriesOf(place, { kind, fileOf }, request);
    if (problem !== undefined) notices.push(`The ${kind} in "${place.shown}" are not read: ${problem}`);
    if (place.scope === "project" && !request.trust.isTrusted) return skip(place, entries, request.trust);
    if (entries.length > mostEntries)
      notices.push(`"${place.shown}" has ${entries.length} ${kind}: only the first ${mostEntries} are read`);
    return entries.slice(0, mostEntries).map(({ entry, file }) => fileAt(place, entry, { file, request }));
  });
  return { files, notices };
}

/** Directories of the project that agents share, and koda's own. */
const sharedDirectories = {
  skills: [".koda", ".agents", ".claude"],
  prompts: [".koda"],
  agents: [".koda"],
  plugins: [".koda"],
} as const;

/** The kinds that a plugin may have. */
const ofPlugins: readonly DefinitionKind[] = ["skills", "agents"];

/** A directory that is both, as when one works in the home, is the user's. */
function placesOf(kind: DefinitionKind, { root, home, configDirectory, plugins = [] }: DefinitionRequest): Place[] {
  const inHome = kind === "skills" && home !== "" ? sharedDirectories.skills.map((name) => join(home, name)) : [];
  const own = configDirectory === undefined ? inHome : [configDirectory, ...inHome];
  const users = own.flatMap((directory) => placeAt("user", join(directory, kind)));
  const projects = sharedDirectories[kind].flatMap((name) => placeAt("project", join(root, name, kind), root));
  const adding = ofPlugins.includes(kind) ? plugins : [];
  const added = adding.flatMap(({ scope, directory }) => placeAt(scope, join(directory, kind)));
  const places = [...projects.filter(({ path }) => !users.some((user) => user.path === path)), ...users, ...added];
  return places.filter(({ path }, index) => places.findIndex((place) => place.path === path) === index);
}

/** None where nothing is there. */
function placeAt(scope: Place["scope"], path: string, root = ""): Place[] {
  if (unlessRefused(() => lstatSync(path, { throwIfNoEntry: false })) === undefined) return [];
  const real = unlessRefused(() => realpathSync(path)) ?? path;
  return [{ scope, path: real, shown: root === "" ? path : path.slice(root.length + 1) }];
}

type Entries = { entries: { entry: string; file: string }[]; problem?: string };

type Wanted = { kind: DefinitionKind; fileOf: (entry: string) => string | undefined };

/**
 * Sorted, so that every run sees the same. Hidden entries and those without a file are none, but `plugins/` is koda's
 * alone: a directory there without its file is a mistake.
 */
function entriesOf({ scope, path }: Place, { kind, fileOf }: Wanted, { root }: DefinitionRequest): Entries {
  if (scope === "project" && !isBelow(path, root)) return { entries: [], problem: linkOut };
  try {
    const names = readdirSync(path).filter((name) => !name.startsWith("."));
    const entries = names.sort().flatMap((entry) => {
      const file = fileOf(entry);
      if (file === undefined) return [];
      const isThere = isEntry(join(path, file)) || (kind === "plugins" && isDirectory(join(path, entry)));
      return isThere ? [{ entry, file }] : [];
    });
    return { entries };
  } catch (error) {
    return { entries: [], problem: reasonOf(error) };
  }
}

function isEntry(path: string): boolean {
  return unlessRefused(() => lstatSync(path, { throwIfNoEntry: false })) !== undefined;
}

function isDirectory(path: string): boolean {
  return unlessRefused(() => statSync(path, { throwIfNoEntry: false }))?.isDirectory() === true;
}

const mostNamed = 20;

function skip({ shown }: Place, entries: Entries["entries"], trust: ProjectTrust): [] {
  for (const { entry } of entries.slice(0, mostNamed)) trust.skip(visibleLine(join(shown, entry)));
  if (entries.length > mostNamed) trust.skip(`${shown}: ${entries.length - mostNamed} more`);
  return [];
}

type At = { file: string; request: DefinitionRequest };

/** It may lead to a private file. */
const linkOut = "it is a link out of the project";

function fileAt(place: Place, entry: string, { file, request: { root, hide } }: At): DefinitionFile {
  const { scope } = place;
  const given = join(place.path, file);
  const path = unlessRefused(() => realpathSync(given));
  const directory = unlessRefused(() => realpathSync(dirname(given))) ?? dirname(given);
  const shown = visibleLine(join(place.shown, file));
  const beside = isBelow(directory, place.path) ? place.path : directory;
  const found = { scope, entry, shown, path: path ?? given, directory, place: beside };
  if (path === undefined) return { ...found, problem: whyUnreadable(given) };
  const isOutside = !isBelow(path, root) || !isBelow(directory, root);
  if (scope === "project" && isOutside) return { ...found, problem: linkOut };
  // A project in a hidden directory was opened as a whole.
  const hidden = scope === "project" ? hide.filter((each) => !isBelow(root, each)) : hide;
  const isDenied = isInFolded(path, hidden) || isInFolded(directory, hidden);
  return isDenied ? { ...found, problem: "it is hidden from the run" } : found;
}

function whyUnreadable(path: string): string {
  const read = readRegularFile(path, 0);
  if (read === undefined) return "there is no such file";
  return "problem" in read ? read.problem : "it cannot be read";
}

type Text = { text: string; isCut: boolean };

/** The text of a file, at most so many bytes of it. */
export function readDefinition({ path, problem }: DefinitionFile, limit: number): Text | { problem: string } {
  if (problem !== undefined) return { problem };
  const bytes = readRegularFile(path, limit + 1, { isReal: true });
  if (bytes === undefined) return { problem: "it is not there any more" };
  if ("problem" in bytes) return bytes;
  // Providers refuse it.
  if (bytes.includes(0)) return { problem: "it is not text" };
  const isCut = bytes.length > limit;
  const text = decodeUtf8(isCut ? wholeCharacters(bytes.subarray(0, limit)) : bytes);
  return text === undefined ? { problem: "it is not UTF-8" } : { text, isCut };
}
