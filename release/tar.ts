/** A file of an archive, by its path in it. */
export type ArchiveFile = { path: string; content: Uint8Array; isProgram?: boolean };

/**
 * A tar archive (POSIX ustar) that depends on nothing but its files and the time they get: sorted, owned by root, with
 * the directories that lead to them.
 */
export function tar(files: readonly ArchiveFile[], seconds: number): Uint8Array {
  const directories = new Set(files.flatMap(({ path }) => parentsOf(path)));
  const entries = [
    ...[...directories].map((path) => ({ path, mode: 0o755, type: "5", content: nothing })),
    ...files.map(entryOf),
  ];
  entries.sort((a, b) => (a.path < b.path ? -1 : 1));
  const blocks = entries.flatMap((entry) => [
    header(entry, seconds),
    entry.content,
    new Uint8Array(-entry.content.length & (blockSize - 1)),
  ]);
  return Buffer.concat([...blocks, new Uint8Array(2 * blockSize)]);
}

const blockSize = 512;
const nothing = new Uint8Array();

type Entry = { path: string; mode: number; type: string; content: Uint8Array };

function entryOf({ path, content, isProgram }: ArchiveFile): Entry {
  return { path, mode: isProgram ? 0o755 : 0o644, type: "0", content };
}

/** `a/` and `a/b/` of `a/b/c`. */
function parentsOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, at) => `${parts.slice(0, at + 1).join("/")}/`);
}

function header({ path, mode, type, content }: Entry, seconds: number): Uint8Array {
  if (Buffer.byteLength(path) > 100) throw new Error(`"${path}" is too long for a tar archive: at most 100 bytes`);
  const block = Buffer.alloc(blockSize);
  const octal = (value: number, at: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at);
  block.write(path, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content.length, 124, 12);
  octal(seconds, 136, 12);
  block.fill(" ", 148, 156);
  block.write(type, 156);
  block.write("ustar\x0000", 257);
  block.write("root", 265);
  block.write("root", 297);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}
