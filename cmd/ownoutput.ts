import { fstatSync, type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import type { OwnOutput } from "../lib/engine/changes.ts";
import { unlessRefused } from "../lib/errors.ts";
import { allPids, statOf } from "../lib/shell/procstat.ts";
import { realPaths } from "../lib/trust/real.ts";
import type { ExecOptions } from "./options.ts";
import { ancestorsOf, type Descriptor, descriptorsOf, isOpenFor, linkOf } from "./pipe.ts";

/**
 * The files that koda itself writes. Its standard streams and the tape are known by their inodes, so a file that the
 * model puts in place of one of them still counts as a change. The answer's file is known by its path: koda replaces it.
 */
export function ownOutput({ record, outputLastMessage }: Pick<ExecOptions, "record" | "outputLastMessage">): OwnOutput {
  const isFile = outputLastMessage !== undefined && outputLastMessage !== "-";
  const answer = isFile ? realPaths(resolve(outputLastMessage)).at(-1) : undefined;
  const inodes = new Set<string>();
  const add = (stats: Stats | undefined) => {
    if (stats?.isFile()) inodes.add(inodeOf({ device: stats.dev, inode: stats.ino }));
  };
  return {
    look() {
      for (const fd of [1, 2]) add(unlessRefused(() => fstatSync(fd)));
      if (record !== undefined) add(unlessRefused(() => statSync(record)));
      filesDownstream().forEach(add);
    },
    has: (path, file) => path === answer || inodes.has(inodeOf(file)),
  };
}

function inodeOf({ device, inode }: { device: number; inode: number }): string {
  return `${device}:${inode}`;
}

/**
 * The files that the readers of our output hold open for writing, directly (`| tee log.txt`) or through further pipes
 * (`| jq . | tee log.txt`). Only processes of our own session and our ancestors count; the model's commands have
 * sessions of their own. A file that a reader opens for a moment, or behind a socket or a terminal, is not found.
 */
function filesDownstream(): Stats[] {
  const streams = [1, 2].filter((fd) => unlessRefused(() => fstatSync(fd))?.isFIFO());
  const own = statOf(process.pid);
  if (streams.length === 0 || own === undefined) return [];

  const ancestors = new Set(ancestorsOf(own).map(({ pid }) => pid));
  const isBeside = (pid: number) => ancestors.has(pid) || statOf(pid)?.session === own.session;
  const others = (allPids() ?? []).filter((pid) => pid !== own.pid && isBeside(pid)).map(descriptorsOf);

  const files: Stats[] = [];
  // A set hands out what is added to it on the way, and each once.
  const pipes = new Set(streams.map((fd) => linkOf(`self/fd/${fd}`)));
  for (const pipe of pipes) {
    const isFed = (descriptor: Descriptor) => descriptor.link === pipe && isOpenFor(descriptor, "reading");
    const ofReaders = others.filter((held) => held.some(isFed)).flat();
    for (const descriptor of ofReaders.filter((held) => isOpenFor(held, "writing"))) {
      const stats = unlessRefused(() => statSync(descriptor.path));
      if (stats?.isFile()) files.push(stats);
      if (stats?.isFIFO()) pipes.add(descriptor.link);
    }
  }
  return files;
}
