import { fstatSync, realpathSync, type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import type { OwnOutput } from "../lib/engine/changes.ts";
import { unlessRefused } from "../lib/errors.ts";
import { allPids, statOf } from "../lib/system/procstat.ts";
import { realPaths } from "../lib/files/real.ts";
import type { ExecOptions } from "./options.ts";
import { ancestorsOf, type Descriptor, descriptorsOf, isOpenFor, linkOf } from "./pipe.ts";

type OutputOptions = Pick<ExecOptions, "record" | "patch" | "outputLastMessage">;

/**
 * The files that koda itself writes. Its standard streams are identified by inode, so a file that the model puts in
 * their place still counts as a change. The files of -o and --patch and the cassette are identified by path: koda
 * replaces them.
 */
export function ownOutput(options: OutputOptions): OwnOutput {
  const replaced = replacedFiles(options);
  // The path of each inode before any command: moved over another file's name it is a change.
  const places = new Map<string, string>();
  const add = ({ stats, path }: OpenFile) => {
    if (stats.isFile() && !places.has(inodeOf(stats))) places.set(inodeOf(stats), path);
  };
  return {
    look() {
      const named = ["/proc/self/fd/1", "/proc/self/fd/2"].map(openFile);
      for (const file of [...named, ...filesDownstream()]) if (file !== undefined) add(file);
    },
    has(path, now, before) {
      const place = places.get(inodeOf({ dev: now.device, ino: now.inode }));
      const isSame = before?.inode === now.inode && before.device === now.device;
      return replaced.includes(path) || (place !== undefined && (place === path || isSame));
    },
  };
}

/** The real paths of the files that koda writes as they are when the run begins, for who looks only then. */
export function ownFiles(options: OutputOptions): string[] {
  const open = ["/proc/self/fd/1", "/proc/self/fd/2"].flatMap((path) => openFile(path)?.path ?? []);
  return [...open, ...replacedFiles(options)];
}

function replacedFiles({ record, patch, outputLastMessage }: OutputOptions): string[] {
  const answer = outputLastMessage === "-" ? undefined : outputLastMessage;
  return [answer, patch, record].flatMap((file) => (file === undefined ? [] : realPaths(resolve(file)).slice(-1)));
}

type OpenFile = { stats: Stats; path: string };

/** The file at a path or behind a descriptor, with its real path. */
function openFile(path: string): OpenFile | undefined {
  return unlessRefused(() => ({ stats: statSync(path), path: realpathSync(path) }));
}

function inodeOf({ dev, ino }: Pick<Stats, "dev" | "ino">): string {
  return `${dev}:${ino}`;
}

/**
 * The files that readers of our output have open for writing, directly (`| tee log.txt`) or through more pipes
 * (`| jq . | tee log.txt`). Only processes of our session and our ancestors count; the model's commands have their own
 * sessions. A file that is open only for a moment, or behind a socket or a terminal, is not found.
 */
function filesDownstream(): OpenFile[] {
  const streams = [1, 2].filter((fd) => unlessRefused(() => fstatSync(fd))?.isFIFO());
  const own = statOf(process.pid);
  if (streams.length === 0 || own === undefined) return [];

  const ancestors = new Set(ancestorsOf(own).map(({ pid }) => pid));
  const isBeside = (pid: number) => ancestors.has(pid) || statOf(pid)?.session === own.session;
  const others = (allPids() ?? []).filter((pid) => pid !== own.pid && isBeside(pid)).map(descriptorsOf);

  const files: OpenFile[] = [];
  // Iterating over a set includes the items that are added meanwhile.
  const pipes = new Set(streams.map((fd) => linkOf(`self/fd/${fd}`)));
  for (const pipe of pipes) {
    const isFed = (descriptor: Descriptor) => descriptor.link === pipe && isOpenFor(descriptor, "reading");
    const ofReaders = others.filter((held) => held.some(isFed)).flat();
    for (const descriptor of ofReaders.filter((held) => isOpenFor(held, "writing"))) {
      const file = openFile(descriptor.path);
      if (file?.stats.isFile()) files.push(file);
      if (file?.stats.isFIFO() || descriptor.link?.startsWith("pipe:")) pipes.add(descriptor.link);
    }
  }
  return files;
}
