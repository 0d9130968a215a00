import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deb } from "../../release/deb.ts";
import { hostTarget } from "../../release/targets.ts";
import { makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";

const target = hostTarget() ?? "linux-x64";
const page = ".TH KODA 1\n.SH NAME\nkoda \\- a test\n";
const files = [
  { path: "bin/koda", content: Buffer.from("#!/bin/sh\necho 9.9.9\n"), isProgram: true },
  { path: "share/man/man1/koda.1", content: Buffer.from(page) },
  { path: "share/doc/koda/LICENSE", content: Buffer.from("MIT\n") },
  { path: "share/zsh/site-functions/_koda", content: Buffer.from("#compdef koda\n") },
];
const build = () => deb({ target, version: "9.9.9-rc.1", files, seconds: 1_700_000_000 });

/** Programs of the machine on a copy of its files that is gone afterwards. */
async function onCopy(script: string, packages: Record<string, Uint8Array>) {
  await using place = makePlace(packages);
  const root = join(place.home, "root");
  const setup = `
    mkdir -p ${root}; mount -t tmpfs tmpfs ${root}; cd ${root}; mkdir upper work all packages
    cp ${place.project}/* packages
    mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work all
    mount -t proc proc all/proc; mount --rbind /dev all/dev
    mkdir -p all/run/packages; cp packages/* all/run/packages
    exec chroot all sh -ec '${script}'`;
  return await runIn(place, ["unshare", "--mount", "--pid", "--fork", "sh", "-ec", setup], {
    env: { DEBIAN_FRONTEND: "noninteractive", PATH: process.env.PATH ?? "" },
  });
}

const isPossible =
  process.getuid?.() === 0 &&
  Bun.which("apt-get") !== null &&
  (await onCopy("true", { empty: new Uint8Array() })).exit === 0;

describe.skipIf(!isPossible)("apt", () => {
  test("installs the package, and removes all of it", async () => {
    const built = await build();
    if (built === undefined) return;
    const ran = await onCopy(
      `rm -f /var/lib/man-db/auto-update
       apt-get install -y -q --no-install-recommends /run/packages/${built.name} >&2
       koda; dpkg-query -W koda; test -e /usr/share/zsh/vendor-completions/_koda
       apt-get remove -y -q koda >&2; test -e /usr/bin/koda || echo gone`,
      { [built.name]: built.content },
    );
    expect(ran.stdout, ran.stderr).toBe("9.9.9\nkoda\t9.9.9~rc.1\ngone\n");
    expect(ran.exit, ran.stderr).toBe(0);
  });
});

test("the package is the same each time, and Alpine has none", async () => {
  const [one, two] = [await build(), await build()];
  expect(one).toEqual(two);
  expect(await deb({ target: "linux-x64-musl", version: "1", files, seconds: 0 })).toBeUndefined();
});

test.skipIf(Bun.which("dpkg-deb") === null)("dpkg reads it", async () => {
  const built = await build();
  if (built === undefined) return;
  await using place = makePlace();
  const path = join(place.project, built.name);
  writeFileSync(path, built.content);
  expect((await runIn(place, ["dpkg-deb", "--field", path, "Architecture", "Depends"])).stdout).toContain("libc6");
  const { stdout, stderr } = await runIn(place, ["dpkg-deb", "--contents", path]);
  expect(stderr).toBe("");
  expect(stdout).toMatch(/-rwxr-xr-x root\/root .* \.\/usr\/bin\/koda\n/);
});

test.skipIf(Bun.which("dpkg-deb") === null)(
  "manual pages and the changelog are compressed, as Debian wants it",
  async () => {
    const built = await build();
    if (built === undefined) return;
    await using place = makePlace({ "koda.deb": built.content });
    expect((await runIn(place, ["dpkg-deb", "-x", "koda.deb", "root"])).stderr).toBe("");
    const read = async (path: string) => (await runIn(place, ["gzip", "-dc", `root/usr/share/${path}`])).stdout;
    expect(await read("man/man1/koda.1.gz")).toBe(page);
    expect(await read("doc/koda/changelog.gz")).toMatch(
      /^koda \(9\.9\.9~rc\.1\) .*\n\n -- .*  Tue, 14 Nov 2023 22:13:20 \+0000\n$/s,
    );
  },
);
