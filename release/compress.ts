import type { Target } from "./targets.ts";

/** How archives are compressed; `tar` is not, for tests. */
export const formats = ["tar.xz", "tar.gz", "tar"] as const;

export type Format = (typeof formats)[number];

/** Neither form has a time or a name in it, and one thread makes the same bytes on every machine. */
export async function compress(bytes: Uint8Array, format: Format, target?: Target): Promise<Uint8Array> {
  switch (format) {
    case "tar":
      return bytes;
    case "tar.gz":
      // libdeflate makes the same bytes on every processor.
      return Bun.gzipSync(Buffer.from(bytes), { library: "libdeflate", level: 12 });
    case "tar.xz":
      return await xz(bytes, target);
    default:
      return format satisfies never;
  }
}

async function xz(bytes: Uint8Array, target?: Target): Promise<Uint8Array> {
  if (Bun.which("xz") === null) throw new Error("There is no xz on this machine: install xz-utils");
  const child = Bun.spawn(["xz", ...xzOptions(target)], { stdin: bytes, stdout: "pipe", stderr: "inherit" });
  const packed = await child.stdout.bytes();
  if ((await child.exited) !== 0) throw new Error(`xz exited ${child.exitCode}`);
  return packed;
}

/**
 * Systems with musl often have busybox for xz, which knows no filters, and dictionaries of 64 MiB at most. The filter
 * for arm64 came with xz 5.4, that for x86 is as old as the format.
 */
function xzOptions(target: Target | undefined): readonly string[] {
  const isForXz = target === "linux-x64" || target === "linux-arm64";
  const filter = target === "linux-x64" ? ["--x86"] : [];
  const dictionary = isForXz ? ",dict=128MiB" : "";
  return ["--compress", "--stdout", "--threads=1", ...filter, `--lzma2=preset=9e,lc=4${dictionary}`];
}
