import { expect, test } from "bun:test";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { seeded } from "../support/random.ts";
import { live, makeGround, undo, type Ground } from "../support/worktree.ts";

/** KODA_SEQUENCES=500 tries more of them, and KODA_SEED begins with another one. */
const count = Number(process.env.KODA_SEQUENCES ?? 24);
const firstSeed = Number(process.env.KODA_SEED ?? 1);
const perProject = 12;

type State = Record<string, string>;

/** Every file, symlink and directory of the project but git's own and ignored ones. */
function stateOf({ root }: Ground): State {
  const state: State = {};
  const visit = (directory: string): void => {
    for (const entry of fs.readdirSync(join(root, directory), { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (path === ".git" || path.endsWith(".log")) continue;
      const at = join(root, path);
      const content = entry.isFile()
        ? Bun.hash(fs.readFileSync(at))
        : entry.isSymbolicLink()
          ? fs.readlinkSync(at)
          : "";
      state[path] = `${fs.lstatSync(at).mode.toString(8)} ${content}`;
      if (entry.isDirectory()) visit(path);
    }
  };
  visit("");
  return state;
}

/** All that git has of its own, with the times. */
function gitState({ root }: Ground): State {
  const state: State = {};
  for (const entry of fs.readdirSync(join(root, ".git"), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const { mode, mtimeMs, ctimeMs, ino } = fs.lstatSync(path);
    state[path] = [mode, mtimeMs, ctimeMs, ino].join(" ");
  }
  return state;
}

class Editor {
  readonly #ground: Ground;
  readonly #random: () => number;
  #next = 0;

  constructor(ground: Ground, seed: number) {
    this.#ground = ground;
    this.#random = seeded(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  pick<T>(choices: readonly T[]): T | undefined {
    return choices[this.below(choices.length)];
  }

  /** Without the ignore rules: a file that they ignored may be ignored no longer. */
  files(kind: "file" | "any" = "file"): string[] {
    const isWanted = (mode: string) => mode.startsWith("100") || (kind === "any" && mode.startsWith("120"));
    const all = Object.entries(stateOf(this.#ground));
    return all.flatMap(([path, mode]) => (isWanted(mode) && path !== ".gitignore" ? path : []));
  }

  text(): string {
    this.#next++;
    const lines = Array.from({ length: this.below(5) }, (_, line) => `${line} of ${this.#next} ${this.#random()}\n`);
    return this.below(40) === 0 ? "large ".repeat(2_000_000) + this.#next : lines.join("");
  }

  newPath(): string {
    const directory = this.pick(["", "", "src/", "deep/er/", "empty/", "other/", `n${this.below(3)}/`]);
    return `${directory}${this.pick(["a", "b", "c", "ünï code", "with space", "-dash"])}${this.below(4)}`;
  }

  /** One edit of a random kind, as a tool or a command makes it. */
  edit(): void {
    const kinds = [this.#write, this.#write, this.#create, this.#delete, this.#rename, this.#renameDirectory];
    kinds.push(
      this.#mode,
      this.#link,
      this.#fileToDirectory,
      this.#directoryToFile,
      this.#removeDirectory,
      this.#ignored,
    );
    this.pick(kinds)?.call(this);
  }

  #at(path: string): string {
    return join(this.#ground.root, path);
  }

  #put(path: string, text: string): void {
    const names = path.split("/");
    for (const depth of names.keys()) {
      const above = this.#at(names.slice(0, depth).join("/"));
      if (fs.lstatSync(above, { throwIfNoEntry: false })?.isDirectory() === false) fs.rmSync(above);
    }
    if (fs.lstatSync(this.#at(path), { throwIfNoEntry: false })?.isDirectory() === true) return;
    fs.mkdirSync(dirname(this.#at(path)), { recursive: true });
    fs.rmSync(this.#at(path), { force: true });
    fs.writeFileSync(this.#at(path), text);
  }

  /** Empty directories are not restored, so none is left but the one that was there. */
  #tidy(path: string): void {
    for (let above = dirname(path); above !== "." && above !== "empty"; above = dirname(above))
      if (fs.existsSync(this.#at(above)) && fs.readdirSync(this.#at(above)).length === 0) fs.rmdirSync(this.#at(above));
  }

  #write(): void {
    const path = this.pick(this.files());
    if (path !== undefined) fs.writeFileSync(this.#at(path), this.text());
  }

  #create(): void {
    this.#put(this.newPath(), this.text());
  }

  #delete(): void {
    const path = this.pick(this.files("any"));
    if (path === undefined) return;
    fs.rmSync(this.#at(path));
    this.#tidy(path);
  }

  #rename(): void {
    const [from, to] = [this.pick(this.files("any")), this.newPath()];
    if (from === undefined || to.startsWith(`${from}/`)) return;
    this.#put(to, "");
    const [source, target] = [from, to].map((path) => stateOf(this.#ground)[path]);
    if (source === undefined || target?.startsWith("100") !== true) return;
    fs.renameSync(this.#at(from), this.#at(to));
    this.#tidy(from);
  }

  #directories(): string[] {
    return Object.entries(stateOf(this.#ground)).flatMap(([path, mode]) =>
      mode.startsWith("40") && path !== "empty" ? path : [],
    );
  }

  #renameDirectory(): void {
    const [from, to] = [this.pick(this.#directories()), `moved${this.below(100)}`];
    if (from === undefined || fs.existsSync(this.#at(to))) return;
    fs.renameSync(this.#at(from), this.#at(to));
    this.#tidy(from);
  }

  #removeDirectory(): void {
    const path = this.pick(this.#directories());
    if (path === undefined) return;
    fs.rmSync(this.#at(path), { recursive: true });
    this.#tidy(path);
  }

  #mode(): void {
    const path = this.pick(this.files());
    if (path !== undefined) fs.chmodSync(this.#at(path), this.pick([0o644, 0o755]) ?? 0);
  }

  #link(): void {
    const path = this.newPath();
    this.#put(path, "");
    if (!fs.lstatSync(this.#at(path)).isFile()) return;
    fs.rmSync(this.#at(path));
    fs.symlinkSync(this.pick(["a0", "nowhere", "src", "../out", "/etc/hosts"]) ?? "", this.#at(path));
  }

  #fileToDirectory(): void {
    const path = this.pick(this.files());
    if (path !== undefined) this.#put(`${path}/inside`, this.text());
  }

  #directoryToFile(): void {
    const path = this.pick(this.#directories());
    if (path === undefined) return;
    fs.rmSync(this.#at(path), { recursive: true });
    fs.writeFileSync(this.#at(path), this.text());
  }

  #ignored(): void {
    this.#put("ignored.log", this.text());
  }
}

function prepare(isRepository: boolean, editor: (ground: Ground) => Editor): { ground: Ground; editor: Editor } {
  const ground = makeGround({
    ".gitignore": "*.log\n",
    "src/a0": "a\n",
    "src/b0": "b\n",
    "deep/er/c0": "c\n",
    "ignored.log": "",
  });
  fs.mkdirSync(join(ground.root, "empty"));
  if (isRepository) ground.commit();
  const made = editor(ground);
  for (let edit = 0; edit < 10; edit++) made.edit();
  return { ground, editor: made };
}

/** Some turns, perhaps an edit of the user's, and a rollback of all of them. */
async function tryOne(ground: Ground, editor: Editor, firstSeq: number): Promise<void> {
  const before = stateOf(ground);
  const keys = Array.from({ length: 1 + editor.below(3) }, (_, turn) => ground.key(firstSeq + turn));
  for (const key of keys) {
    await using snapshot = await ground.snapshot();
    for (let edit = editor.below(8); edit >= 0; edit--) editor.edit();
    await snapshot.record(key, live);
  }
  const mine = editor.below(3) === 0 ? usersFile(ground, editor, before) : undefined;
  const after = stateOf(ground);
  const ignored = fs.readFileSync(join(ground.root, "ignored.log"));
  const git = fs.existsSync(join(ground.root, ".git")) ? gitState(ground) : {};

  const { restored, kept, lost } = await undo(...keys);
  const now = stateOf(ground);
  const expected = mine === undefined ? before : { ...before, ...mine };
  const files = (state: State) =>
    Object.fromEntries(Object.entries(state).filter(([, mode]) => !mode.startsWith("40")));
  expect(now).toEqual(mine === undefined ? expected : { ...now, ...expected });
  expect(files(now)).toEqual(files(expected));
  expect(lost).toEqual([]);
  expect(kept.filter(({ path }) => mine?.[path.slice(ground.root.length + 1)] === undefined)).toEqual([]);
  const differing = [...new Set([...Object.keys(files(after)), ...Object.keys(files(now))])].filter(
    (path) => files(after)[path] !== files(now)[path],
  );
  expect(restored.map(({ path }) => path.slice(ground.root.length + 1))).toEqual(differing.sort());
  expect(fs.readFileSync(join(ground.root, "ignored.log"))).toEqual(ignored);
  if (fs.existsSync(join(ground.root, ".git"))) expect(gitState(ground)).toEqual(git);
}

/** A file that the user changes and that stays so: nothing has to come back in its place or in that of its directory. */
function usersFile(ground: Ground, editor: Editor, before: State): State | undefined {
  const isFree = (path: string): boolean =>
    (before[path]?.startsWith("40") ?? false) === false &&
    !Object.keys(before).some((other) => path.startsWith(`${other}/`) && !before[other]?.startsWith("40"));
  const path = editor.pick(editor.files().filter(isFree));
  if (path === undefined) return undefined;
  fs.appendFileSync(join(ground.root, path), "mine\n");
  return { [path]: stateOf(ground)[path] ?? "" };
}

const projects = Array.from({ length: Math.ceil(count / perProject) }, (_, index) => firstSeed + index);

test.each(projects)(
  "random edits are undone byte for byte, and named exactly before (seed %d)",
  async (seed) => {
    const { ground: made, editor } = prepare(seed % 4 !== 0, (ground) => new Editor(ground, seed));
    await using ground = made;
    for (let round = 0; round < Math.min(perProject, count); round++) {
      await tryOne(ground, editor, round * 10);
      if (seed % 4 !== 0 && editor.below(3) === 0) {
        editor.edit();
        ground.git("add", "-A");
        ground.git("commit", "-q", "--allow-empty", "-m", "more");
      }
      for (let edit = editor.below(4); edit > 0; edit--) editor.edit();
    }
  },
  600_000,
);
