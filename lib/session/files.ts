type Content = string | Uint8Array;
type Sight = { size: number; hash: number | bigint; isWhole: boolean } | "unknown";

export type FileLog = ReturnType<typeof createFileLog>;

/**
 * The files that the model has seen in this conversation, and those that it created. Contents are remembered by size
 * and hash, not by their bytes: a session may read a whole repository.
 */
export function createFileLog() {
  const seen = new Map<string, Sight>();
  const own = new Set<string>();
  /** The same as `seen`, with what the model no longer has. */
  const read = new Map<string, Sight>();
  const see = (path: string, sight: Sight) => {
    seen.set(path, sight);
    read.set(path, sight);
  };

  return {
    /** Records that the model has read a whole file, or has just written it. */
    saw(path: string, content: Content): void {
      see(path, sightOf(content, true));
    },
    /**
     * Records that the model has read a part of a file: enough to edit it, not enough to skip reading it. Without the
     * content (of a file too large to read whole) every version counts as changed.
     */
    sawPart(path: string, content?: Content): void {
      if (content === undefined) see(path, "unknown");
      // Reading a part of a file that the model has read whole changes nothing.
      else if (!isSame(seen.get(path), content)) see(path, sightOf(content, false));
    },
    /** The files that the model has ever seen. */
    paths: (): readonly string[] => [...read.keys()],
    /** True when the model has seen exactly this content, or a part of it. */
    isAsRead: (path: string, content: Content): boolean => isSame(read.get(path), content),
    /** True when the model has seen any version of the file. */
    hasSeen: (path: string): boolean => seen.has(path),
    /** True when the model has seen exactly this content, whole. */
    isCurrent(path: string, content: Content): boolean {
      const sight = seen.get(path);
      return isSame(sight, content) && sight.isWhole;
    },
    /** True when the model has last seen another content, or a part of it. */
    hasChanged: (path: string, content: Content): boolean => seen.has(path) && !isSame(seen.get(path), content),
    /** Records a new file. Overwriting an existing one never makes it the session's own. */
    created(path: string): void {
      own.add(path);
    },
    isOwn: (path: string): boolean => own.has(path),
    /** The model no longer has the contents that it read, so every file counts as unread. */
    forgetContents: (): void => seen.clear(),
    /** Drops a path and everything below it. */
    forget(path: string): void {
      const isDropped = (known: string) => known === path || known.startsWith(`${path}/`);
      for (const known of seen.keys()) if (isDropped(known)) seen.delete(known);
      for (const known of own) if (isDropped(known)) own.delete(known);
    },
  };
}

type Known = Exclude<Sight, "unknown">;

function isSame(sight: Sight | undefined, content: Content): sight is Known {
  if (sight === undefined || sight === "unknown") return false;
  return sight.size === sizeOf(content) && sight.hash === Bun.hash(content);
}

function sightOf(content: Content, isWhole: boolean): Known {
  return { size: sizeOf(content), hash: Bun.hash(content), isWhole };
}

function sizeOf(content: Content): number {
  return typeof content === "string" ? Buffer.byteLength(content) : content.byteLength;
}
