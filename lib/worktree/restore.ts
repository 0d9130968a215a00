import {
  fchmodSync,
  lchownSync,
  lstatSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, relative } from "node:path";
import { yieldToEventLoop } from "../async/yieldtoeventloop.ts";
import { errnoOf, unlessRefused } from "../errors.ts";
import { HeldDirectory } from "../files/held.ts";
import { keepOwner, putFile, type HeldEntry } from "../files/save.ts";
import type { Contents } from "./contents.ts";
import { nearestDirectory, type Restored, type RestorePlan } from "./plan.ts";

type RestoreOptions = {
  contents: Contents;
  /** A name of this session's own: what a killed process left under it is removed. */
  staging: string;
};

/**
 * Writes every content of a plan beside its place, and nothing is touched yet: a full disk is found here. The steps are
 * taken in directories that are held open: no symlink leads them elsewhere.
 */
export async function stageFiles(plan: RestorePlan, options: RestoreOptions): Promise<StagedFiles> {
  using held = new DisposableStack();
  const stages: Stage[] = [];
  for (const [root, files] of Map.groupBy(plan.restored, ({ root }) => root))
    stages.push(await held.use(new Stage(root, options)).prepare(files));
  const staged = held.move();
  return {
    async apply() {
      for (const stage of stages) await stage.apply(plan);
    },
    [Symbol.dispose]: () => staged.dispose(),
  };
}

/** Removes what a killed process left. */
export function removeStaged({ roots }: RestorePlan, staging: string): void {
  for (const root of roots) {
    using base = HeldDirectory.open(root);
    rmSync(base.at(stagingName(staging)), { recursive: true, force: true });
  }
}

function stagingName(staging: string): string {
  return `.koda-rollback-${staging}`;
}

type StagedFiles = Disposable & { apply(): Promise<void> };

/** New files of one project, in a directory beside their places. */
class Stage implements Disposable {
  readonly #base: HeldDirectory;
  readonly #name: string;
  readonly #directory: HeldDirectory;
  readonly #contents: Contents;
  #files: readonly Restored[] = [];

  constructor(root: string, { contents, staging }: RestoreOptions) {
    this.#contents = contents;
    this.#base = HeldDirectory.open(root);
    this.#name = stagingName(staging);
    this.#directory = this.#base.child(this.#name, { create: true });
    this.#directory.chmod(0o700);
  }

  async prepare(files: readonly Restored[]): Promise<this> {
    this.#files = files;
    for (const [index, file] of files.entries()) {
      this.#put({ directory: this.#directory, name: String(index) }, file);
      if (index % 50 === 49) await yieldToEventLoop();
    }
    return this;
  }

  async apply(plan: RestorePlan): Promise<void> {
    const deleted = this.#files.filter(({ before }) => before.kind === "missing");
    for (const { path } of deleted) unlinkIn(this.#base, this.#pathOf(path));
    const directories = plan.directories.filter(({ root }) => root === this.#base.path);
    for (const { path, wasThere } of directories.toReversed())
      if (!wasThere) removeEmpty(this.#base, this.#pathOf(path));
    for (const [index, file] of this.#files.entries()) {
      if (file.before.kind !== "missing") this.#move(String(index), file);
      if (index % 50 === 49) await yieldToEventLoop();
    }
    for (const { path, wasThere } of directories)
      if (wasThere) unlessRefused(() => this.#base.descend(this.#pathOf(path), { create: true })[Symbol.dispose]());
  }

  /** In one step; a part of the project may lie on another file system. */
  #move(name: string, file: Restored): void {
    const path = this.#pathOf(file.path);
    using parent = this.#base.descend(dirname(path), { create: true });
    const target = { directory: parent, name: basename(path) };
    if (parent.look(target.name)?.isDirectory() === true) removeEmptyTree(parent, target.name);
    try {
      renameSync(this.#directory.at(name), parent.at(target.name));
    } catch (error) {
      if (errnoOf(error) !== "EXDEV") throw error;
      if (file.before.kind === "symlink") rmSync(parent.at(target.name), { force: true });
      this.#put(target, file);
    }
  }

  #put(target: HeldEntry, { path, root, before }: Restored): void {
    if (before.kind === "missing" || before.hash === undefined) return;
    const content = this.#contents.read(before.hash);
    const owner = unlessRefused(() => lstatSync(path)) ?? statSync(nearestDirectory(dirname(path), root));
    if (before.kind === "symlink") {
      const link = target.directory.at(target.name);
      symlinkSync(Buffer.from(content), link);
      return unlessRefused(() => lchownSync(link, owner.uid, owner.gid));
    }
    putFile(target, content, {
      finish(descriptor) {
        keepOwner(descriptor, owner);
        fchmodSync(descriptor, before.mode & 0o7777);
      },
    });
  }

  #pathOf(path: string): string {
    return relative(this.#base.path, path);
  }

  #remove(): void {
    rmSync(this.#base.at(this.#name), { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    this.#directory[Symbol.dispose]();
    this.#remove();
    this.#base[Symbol.dispose]();
  }
}

function unlinkIn(base: HeldDirectory, path: string): void {
  try {
    using parent = base.descend(dirname(path));
    unlinkSync(parent.at(basename(path)));
  } catch (error) {
    // Another process was faster.
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

/** A directory with something in it stays. */
function removeEmpty(base: HeldDirectory, path: string): void {
  unlessRefused(() => {
    using parent = base.descend(dirname(path));
    rmdirSync(parent.at(basename(path)));
  });
}

function removeEmptyTree(parent: HeldDirectory, name: string): void {
  {
    using directory = parent.child(name);
    for (const below of directory.names()) removeEmptyTree(directory, below);
  }
  rmdirSync(parent.at(name));
}
