/** The files that the model has seen in this conversation, and those that it created. */
export type FileLog = {
  /** Records that the model has read a whole file, or has just written it. */
  saw(path: string, content: string | Uint8Array): void;
  /**
   * Records that the model has read a part of a file: enough to edit it, not enough to skip reading it. Without the
   * content (of a file too large to read whole) every version counts as changed.
   */
  sawPart(path: string, content?: string | Uint8Array): void;
  /** True when the model has seen any version of the file. */
  hasSeen(path: string): boolean;
  /** True when the model has seen exactly this content, whole. */
  isCurrent(path: string, content: string | Uint8Array): boolean;
  /** True when the model has last seen another content, or a part of it. */
  hasChanged(path: string, content: string | Uint8Array): boolean;
  /** Records a new file. Overwriting an existing one never makes it the session's own. */
  created(path: string): void;
  isOwn(path: string): boolean;
  /** Drops a path and everything below it. */
  forget(path: string): void;
};

type Sight = { size: number; hash: number | bigint; isWhole: boolean } | "unknown";

/** Remembers contents by size and hash, not by their bytes: a session may read a whole repository. */
export function createFileLog(): FileLog {
  const seen = new Map<string, Sight>();
  const own = new Set<string>();

  return {
    saw(path, content) {
      seen.set(path, sightOf(content, true));
    },
    sawPart(path, content) {
      if (content === undefined) seen.set(path, "unknown");
      // Reading a part of a file that the model has read whole changes nothing.
      else if (!isSame(seen.get(path), content)) seen.set(path, sightOf(content, false));
    },
    hasSeen: (path) => seen.has(path),
    isCurrent(path, content) {
      const sight = seen.get(path);
      return isSame(sight, content) && sight.isWhole;
    },
    hasChanged: (path, content) => seen.has(path) && !isSame(seen.get(path), content),
    created(path) {
      own.add(path);
    },
    isOwn: (path) => own.has(path),
    forget(path) {
      const isGone = (known: string) => known === path || known.startsWith(`${path}/`);
      for (const known of seen.keys()) if (isGone(known)) seen.delete(known);
      for (const known of own) if (isGone(known)) own.delete(known);
    },
  };
}

type Known = Exclude<Sight, "unknown">;

function isSame(sight: Sight | undefined, content: string | Uint8Array): sight is Known {
  if (sight === undefined || sight === "unknown") return false;
  return sight.size === sizeOf(content) && sight.hash === Bun.hash(content);
}

function sightOf(content: string | Uint8Array, isWhole: boolean): Known {
  return { size: sizeOf(content), hash: Bun.hash(content), isWhole };
}

function sizeOf(content: string | Uint8Array): number {
  return typeof content === "string" ? Buffer.byteLength(content) : content.byteLength;
}
