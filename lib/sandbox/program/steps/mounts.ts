import type { Assembly, StepOptions, Value, Variable } from "../../assembly/assembly.ts";
import { type Inside, isOpenAtFirst, type Layout, type Mount } from "../../layout/layout.ts";
import { here, openWithoutLinks } from "./place.ts";

const [AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_RECURSIVE] = [0x100, 0x1000, 0x8000] as const;
const [OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC] = [1, 0o2000000] as const;
const MOVE_MOUNT_F_EMPTY_PATH = 4;
const [READONLY, NOSUID, NODEV, NOEXEC] = [1, 2, 4, 8] as const;
const [MS_REC, MS_PRIVATE] = [0x4000, 1 << 18] as const;
const [ENOENT, EACCES] = [2, 13] as const;
/** Removed since it was looked at, or in a directory that the command cannot enter either. */
const outOfReach = [ENOENT, EACCES] as const;
const [regularFile, directoryMode] = [0o100666, 0o755] as const;

const devices = ["null", "zero", "full", "random", "urandom", "tty"] as const;
const links = { ptmx: "pts/ptmx", fd: "/proc/self/fd", stdin: "fd/0", stdout: "fd/1", stderr: "fd/2" } as const;

/** Makes the file system look as the layout has it, in a mount namespace of the program's own. */
export function arrange(program: Assembly, { readonlyTree, mounts, inDevices }: Layout): void {
  program.step("mount", [0, program.text("/"), 0, MS_REC | MS_PRIVATE, 0], { must: "mount(private /)" });
  // All that is shown is taken before anything is covered: what lies on the way to it may be gone then.
  const taken = new Map(mounts.map((mount) => [mount, take(program, mount)]));
  const nodes = devices.map((name) => ({ at: `/dev/${name}`, tree: takeTree(program, `/dev/${name}`) }));

  restrictMounts(program, { at: "/", flags: (readonlyTree ? READONLY : 0) | NOSUID | NODEV, all: true });
  if (!readonlyTree)
    for (const path of ["/sys", "/dev"]) restrictMounts(program, { at: path, flags: READONLY, all: true });
  makeDevices(program, { nodes, inside: inDevices });
  for (const mount of mounts) place(program, mount, taken.get(mount));
  for (const mount of mounts)
    if (isOpenAtFirst(mount)) restrictMounts(program, { at: mount.at, flags: READONLY, all: false });
}

/** A new /proc, of the process namespace that the program is in; nothing in it can be written to. */
export function showOwnProcesses(program: Assembly, mostProcesses: number | undefined): void {
  const proc = program.text("/proc");
  program.step("mount", [program.text("proc"), proc, program.text("proc"), NOSUID | NODEV | NOEXEC, 0], {
    must: "mount(/proc)",
  });
  if (mostProcesses !== undefined) limitProcesses(program, mostProcesses);
  restrictMounts(program, { at: "/proc", flags: READONLY, all: true });
}

/** The limit of a namespace for everyone in it; a limit for each user does not hold for user 0. */
function limitProcesses(program: Assembly, most: number): void {
  const [file, closed] = [program.variable(), program.label("the number of processes is limited")];
  const digits = String(most);
  const O_WRONLY = 1;
  program.step("openat", [here, program.text("/proc/sys/kernel/pid_max"), O_WRONLY, 0], {
    onError: closed,
    into: file,
  });
  program.step("write", [file, program.text(digits), digits.length]);
  program.step("close", [file]);
  program.place(closed);
}

/** Undefined for what is made or found in its place. */
function take(program: Assembly, mount: Mount): Variable | undefined {
  switch (mount.kind) {
    case "tree":
      return mount.writable
        ? restricted(program, takeWritable(program, mount.from), NOSUID | NODEV)
        : restricted(program, takeTree(program, mount.from), (isOpenAtFirst(mount) ? 0 : READONLY) | NOSUID | NODEV);
    case "sealed":
      return restricted(program, takeTree(program, "/dev/null"), READONLY | NOSUID | NODEV);
    case "cover":
      if (mount.from === undefined) return undefined;
      return restricted(program, takeTree(program, mount.from), READONLY | NOSUID | NODEV | NOEXEC);
    case "frozen":
      return undefined;
    default:
      return mount satisfies never;
  }
}

function place(program: Assembly, mount: Mount, tree: Variable | undefined): void {
  switch (mount.kind) {
    case "tree":
    case "sealed":
      if (tree !== undefined) putTree(program, tree, mount.at);
      if (mount.kind === "tree") makeInside(program, mount.inside);
      return;
    case "cover":
      return cover(program, mount, tree);
    case "frozen":
      return freeze(program, mount.at);
    default:
      mount satisfies never;
  }
}

/** A copy of what is mounted at a path, and in it, that is mounted nowhere yet. */
function takeTree(program: Assembly, path: string): Variable {
  return openTree(program, [here, program.text(path), 0], { must: `open_tree(${path})` });
}

/** The same of what commands are to write, which is no symlink, whatever others do at that moment. */
function takeWritable(program: Assembly, path: string): Variable {
  const place = program.variable();
  openWithoutLinks(program, path, { must: `openat2(${path})`, into: place });
  const tree = openTree(program, [place, program.text(""), AT_EMPTY_PATH], { must: `open_tree(${path})` });
  program.step("close", [place]);
  return tree;
}

type Place = readonly [at: Value, name: number, flags: number];

function openTree(program: Assembly, [at, name, flags]: Place, options: StepOptions): Variable {
  const tree = program.variable();
  const all = flags | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
  program.step("open_tree", [at, name, all], { ...options, into: tree });
  return tree;
}

function putTree(program: Assembly, tree: Variable, at: string, options: StepOptions = {}): void {
  program.step("move_mount", [tree, program.text(""), here, program.text(at), MOVE_MOUNT_F_EMPTY_PATH], {
    must: `move_mount(${at})`,
    ...options,
  });
}

type Cover = Extract<Mount, { kind: "cover" }>;

function cover(program: Assembly, { at, inside }: Cover, tree: Variable | undefined): void {
  // It was removed since it was looked at: nothing is left to hide.
  const gone = program.label(`${at} is covered`);
  const onErrno = { errno: outOfReach, to: gone };
  if (tree !== undefined) putTree(program, tree, at, { onErrno });
  else {
    const [type, isSeen] = [program.text("tmpfs"), inside.length > 0];
    const options = program.text(isSeen ? "mode=755,size=64k" : "mode=0,size=4k");
    const flags = NOSUID | NODEV | NOEXEC | (isSeen ? 0 : READONLY);
    program.step("mount", [type, program.text(at), type, flags, options], { onErrno, must: `mount(cover ${at})` });
    makeInside(program, inside);
  }
  program.place(gone);
}

/** A symlink too stays what it is, and cannot be renamed or removed: it is a mount point itself. */
function freeze(program: Assembly, at: string): void {
  const gone = program.label(`${at} is frozen`);
  const onErrno = { errno: outOfReach, to: gone };
  const place: Place = [here, program.text(at), AT_SYMLINK_NOFOLLOW];
  const tree = openTree(program, place, { onErrno, must: `open_tree(${at})` });
  putTree(program, restricted(program, tree, READONLY), at, { onErrno });
  program.step("close", [tree]);
  program.place(gone);
}

/** Terminals and shared memory of its own, and of the host's devices only those that hold nothing. */
function makeDevices(
  program: Assembly,
  { nodes, inside }: { nodes: readonly { at: string; tree: Variable }[]; inside: readonly Inside[] },
): void {
  const [tmpfs, devpts] = [program.text("tmpfs"), program.text("devpts")];
  const mount = (type: number, { at, flags, options }: { at: string; flags: number; options: string }) =>
    program.step("mount", [type, program.text(at), type, flags, program.text(options)], { must: `mount(${at})` });

  mount(tmpfs, { at: "/dev", flags: NOSUID | NOEXEC, options: "mode=755,size=64k" });
  for (const { at, tree } of nodes) {
    makeFile(program, at);
    putTree(program, tree, at);
  }
  for (const name of ["pts", "shm"]) makeDirectory(program, `/dev/${name}`);
  mount(devpts, { at: "/dev/pts", flags: NOSUID | NOEXEC, options: "newinstance,ptmxmode=0666,mode=620" });
  mount(tmpfs, { at: "/dev/shm", flags: NOSUID | NODEV, options: "mode=1777" });
  makeInside(program, inside);
  for (const [name, target] of Object.entries(links))
    program.step("symlinkat", [program.text(target), here, program.text(`/dev/${name}`)], {
      must: `symlink(/dev/${name})`,
    });
  restrictMounts(program, { at: "/dev", flags: READONLY, all: false });
}

function makeInside(program: Assembly, inside: readonly Inside[]): void {
  for (const { path, kind } of inside) (kind === "directory" ? makeDirectory : makeFile)(program, path);
}

/** A failure shows where the directory is needed. */
function makeDirectory(program: Assembly, path: string): void {
  program.step("mkdirat", [here, program.text(path), directoryMode]);
}

function makeFile(program: Assembly, path: string): void {
  program.step("mknodat", [here, program.text(path), regularFile, 0]);
}

function restrictMounts(program: Assembly, { at, flags, all }: { at: string; flags: number; all: boolean }): void {
  program.step("mount_setattr", [here, program.text(at), all ? AT_RECURSIVE : 0, program.words(flags, 0, 0, 0), 32], {
    must: `mount_setattr(${at})`,
  });
}

function restricted(program: Assembly, tree: Variable, flags: number): Variable {
  const all = AT_EMPTY_PATH | AT_RECURSIVE;
  program.step("mount_setattr", [tree, program.text(""), all, program.words(flags, 0, 0, 0), 32], {
    must: "mount_setattr",
  });
  return tree;
}
