import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { sha256 } from "../../release/sha256.ts";
import { tar } from "../../release/tar.ts";
import { hostTarget } from "../../release/targets.ts";
import { binary } from "../support/koda.ts";
import { makePlace } from "../support/place.ts";
import { glibc, whyNoRoot } from "../support/root.ts";
import { runIn } from "../support/run.ts";

const target = hostTarget();
const problem = Bun.which("busybox") === null ? "there is no busybox" : whyNoRoot();
const name = `koda-${version}-${target}`;
const libraries = ["libc", "libm", "libdl", "libpthread", "libresolv"];

/** The shared libraries of the host that busybox and koda need, and nothing else of it. */
function libraryBinds(): string[] {
  const found = libraries.flatMap((each) => [
    ...new Bun.Glob(`${each}.so.*`).scanSync({ cwd: glibc.libraries, absolute: true, onlyFiles: false }),
  ]);
  return [glibc.loader, ...found].flatMap((path) => ["--ro-bind", path, path]);
}

/** The release's archive, without the time that compression takes. */
function pack(): Uint8Array {
  const archive = tar([{ path: `${name}/bin/koda`, content: readFileSync(binary), isProgram: true }], 0);
  return Bun.gzipSync(Buffer.from(archive), { library: "libdeflate", level: 0 });
}

test.skipIf(problem !== undefined || target === undefined)(
  `install.sh and the demo work for a user in an empty system${problem === undefined ? "" : ` (${problem})`}`,
  async () => {
    await using place = makePlace();
    const packed = pack();
    const sum = sha256(packed);
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) => new Response(url.endsWith("/SHA256SUMS") ? `${sum}  ${name}.tar.gz\n` : packed),
    });
    const root = join(place.home, "root");
    for (const directory of ["bin", "home/user", "install"]) mkdirSync(join(root, directory), { recursive: true });
    copyFileSync(Bun.which("busybox") ?? "", join(root, "bin/busybox"));
    for (const tool of tools) symlinkSync("busybox", join(root, "bin", tool));
    copyFileSync("install.sh", join(root, "install/install.sh"));
    writeFileSync(join(root, "install/try.sh"), script);
    const inRoot = ["--bind", root, "/", ...libraryBinds(), "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];
    const user = ["--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid", "--clearenv"];
    const base = `http://127.0.0.1:${server.port}`;
    const env = Object.entries({ PATH: "/bin", HOME: "/home/user", KODA_DOWNLOAD_BASE: base, VERSION: version });
    const variables = env.flatMap(([key, value]) => ["--setenv", key, value]);
    const argv = ["bwrap", ...inRoot, ...user, ...variables, "--chdir", "/home/user", "sh", "/install/try.sh"];
    const ran = await runIn(place, argv);
    expect(ran.exit, ran.stdout + ran.stderr).toBe(0);
    expect(ran.stdout).toContain("Installed koda");
    expect(ran.stdout).toContain('"backend":"namespaces"');
    expect(ran.stdout).toContain("uid 1000");
  },
);

const tools = "sh awk cat cp cut dirname gzip head id ls mkdir mktemp mv rm sha256sum tar uname wget chmod".split(" ");

const script = `set -e
sh /install/install.sh --version "$VERSION"
echo "uid $(id -u)"
~/.local/bin/koda exec -m demo --output jsonl
`;
