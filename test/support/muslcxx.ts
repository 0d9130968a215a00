import { existsSync } from "node:fs";
import { join } from "node:path";

/** Of Debian's musl package. */
export const muslLoader = `/lib/ld-musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;

/**
 * Debian has musl, but no C++ library for it. This links one: the objects of Debian's own (package libstdc++-12-pic), with
 * what they miss in musl. Enough for Bun, which throws no exceptions; says why it could not be made.
 */
export function linkMuslCxx(directory: string): { library: string } | { problem: string } {
  const gcc = Bun.which("gcc");
  if (gcc === null) return { problem: "there is no gcc" };
  const [objects, ...parts] = ["libstdc++_pic.a", "crtbeginS.o", "libgcc_eh.a", "libgcc.a", "crtendS.o"].map((name) =>
    Bun.spawnSync([gcc, `-print-file-name=${name}`])
      .stdout.toString()
      .trim(),
  );
  if (objects === undefined || !existsSync(objects)) return { problem: "there is no libstdc++-12-pic" };
  const [begin = "", ...rest] = parts;
  const library = join(directory, "libstdc++.so.6");
  const aliases = renamed.map(([old, name]) => `-Wl,--defsym=${old}=${name}`);
  const whole = ["-Wl,--whole-archive", objects, "-Wl,--no-whole-archive"];
  const argv = [
    gcc,
    "-shared",
    "-nostdlib",
    "-fPIC",
    ...aliases,
    "-o",
    library,
    begin,
    "-xc",
    "-",
    "-xnone",
    ...whole,
    ...rest,
  ];
  const { success, stderr } = Bun.spawnSync(argv, { stdin: Buffer.from(missing), stdout: "ignore", stderr: "pipe" });
  return success ? { library } : { problem: `gcc could not link it: ${stderr.toString().trim()}` };
}

/** Old names, which the objects use and only their own version script defines. */
const renamed = [
  ["_ZNSi6ignoreEl", "_ZNSi6ignoreEli"],
  ["_ZNSt13basic_istreamIwSt11char_traitsIwEE6ignoreEl", "_ZNSt13basic_istreamIwSt11char_traitsIwEE6ignoreElj"],
] as const;

/** Functions of glibc. Destructors of threads are left out, and no exception finds its handler. */
const missing = `
typedef unsigned long size_t;
size_t strftime_l(char *, size_t, const char *, const void *, void *);
long getrandom(void *, size_t, unsigned);
char __libc_single_threaded = 0;
unsigned arc4random(void) { unsigned x; getrandom(&x, sizeof x, 0); return x; }
size_t __strftime_l(char *s, size_t n, const char *f, const void *t, void *l) { return strftime_l(s, n, f, t, l); }
int __cxa_thread_atexit_impl(void (*f)(void *), void *o, void *d) { return 0; }
int _dl_find_object(void *pc, void *result) { return -1; }
`;
