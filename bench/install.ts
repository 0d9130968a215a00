import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../package.json";
import type { Figure } from "./measure.ts";

const release = "dist/release";

/**
 * install.sh and the demo, by a user without rights in a new Debian: needs debootstrap, root, and `npm run release`.
 */
export async function measure(): Promise<Figure[]> {
  const problem = whyNot();
  if (problem !== undefined) {
    console.error(`skipped: the installation in a new Debian: ${problem}`);
    return [];
  }
  const root = mkdtempSync(join(tmpdir(), "koda-debian-"));
  const files = (path: string) => Bun.file(join(release, path.replace(`/v${version}/`, "")));
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async ({ url }) => new Response(await files(new URL(url).pathname).bytes()),
  });
  try {
    chmodSync(root, 0o755);
    await run("debootstrap", "--variant=minbase", "--include=curl,xz-utils", "stable", root);
    copyFileSync(join(release, "install.sh"), join(root, "install.sh"));
    await run("chroot", root, "useradd", "--create-home", "user");
    const started = performance.now();
    const events = await run("unshare", "--mount", "--pid", "--fork", "sh", "-ec", scriptFor(root, server.url.origin));
    const seconds = (performance.now() - started) / 1000;
    const { sandbox } = JSON.parse(events.split("\n")[0] ?? "") as { sandbox: { backend: string } };
    const isStrong = sandbox.backend === "namespaces";
    const what = `install.sh and the demo in a new Debian, sandbox ${sandbox.backend}`;
    return [{ what, value: seconds, unit: "s", bar: "≤ 10 s", holds: seconds <= 10 && isStrong }];
  } finally {
    rmSync(root, { recursive: true });
  }
}

function whyNot(): string | undefined {
  if (!existsSync(join(release, "SHA256SUMS"))) return "there is no release: npm run release";
  if (process.getuid?.() !== 0) return "only root can make one";
  return Bun.which("debootstrap") === null ? "there is no debootstrap" : undefined;
}

/** The kernel gives no user namespace to a process in a chroot, so the new Debian becomes the root itself. */
function scriptFor(root: string, base: string): string {
  const variables = `HOME=/home/user PATH=/usr/bin:/bin KODA_DOWNLOAD_BASE=${base}`;
  const steps = "mkdir ~/project; cd ~/project; sh /install.sh >&2; ~/.local/bin/koda exec -m demo --output jsonl";
  return `
    mount --bind ${root} ${root}
    cd ${root}
    mount -t proc proc proc
    mount --rbind /dev dev
    mkdir old
    pivot_root . old
    umount -l /old
    exec setpriv --reuid=1000 --regid=1000 --clear-groups env -i ${variables} sh -ec '${steps}'`;
}

async function run(...argv: string[]): Promise<string> {
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (child.exitCode !== 0)
    throw new Error(`${argv[0]} exited ${child.exitCode}: ${stderr.slice(-500) || stdout.slice(-500)}`);
  return stdout;
}
