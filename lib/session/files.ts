/** What this conversation knows of files: which content it has seen, and which files it made itself. */
export type FileLog = {
  /** Notes the content of a file that the model has just been shown whole, or has just written. */
  saw(path: string, content: string | Uint8Array): void;
  /**
   * Notes a file of which the model has been shown a part: enough to edit it, not enough to skip reading it. Without
   * its content (it was too large to be read whole) every version counts as changed.
   */
  sawPart(path: string, content?: string | Uint8Array): void;
  /** Has the model seen this file's content in this conversation, in any version? */
  hasSeen(path: string): boolean;
  /** Is this exactly the content that the model has in front of it? */
  isCurrent(path: string, content: string | Uint8Array): boolean;
  /** Has the file another content than when the model last saw it, or a part of it? */
  hasChanged(path: string, content: string | Uint8Array): boolean;
  /** Notes a file that did not exist before. Overwriting one that did never makes it the session's own. */
  created(path: string): void;
  isOwn(path: string): boolean;
  /** Drops what is known of a path and of everything below it. */
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
      // A second look at a part does not take away what the model has in front of it.
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
