import { expect, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { installationOf } from "../../cmd/installation.ts";
import { sha256 } from "../../release/sha256.ts";
import { binary } from "../support/koda.ts";
import { makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

/** A server with these files, for as long as a test takes. */
function serve(files: Readonly<Record<string, string>>) {
  const asked: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      asked.push(pathname);
      const content = files[pathname];
      return content === undefined ? new Response("no such file", { status: 404 }) : new Response(content);
    },
  });
  return { base: server.url.href.replace(/\/$/, ""), asked, [Symbol.asyncDispose]: () => server.stop(true) };
}

function install(place: Place, path: string): string {
  const target = join(place.home, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(binary, target);
  return target;
}

test("the command for install.sh runs it, from where koda came from to where koda is, and nothing before", async () => {
  await using place = makePlace();
  const program = install(place, "my bin/koda");
  const script = 'echo "$@"; echo "from $KODA_DOWNLOAD_BASE"\n';
  await using server = serve({ "/koda/install.sh": script });
  const env = { KODA_DOWNLOAD_BASE: `${server.base}/koda/` };
  const told = await runIn(place, [program, "upgrade"], { env });
  expect([told.exit, told.stderr]).toEqual([0, `koda is a file of its own, "${program}"\n`]);
  expect(server.asked).toEqual([]);
  if (Bun.which("curl") === null) return;
  const ran = await runIn(place, ["sh", "-c", told.stdout]);
  expect(ran.stdout, ran.stderr).toBe(`--to ${dirname(program)}\nfrom ${server.base}/koda\n`);
  await using empty = serve({});
  const lost = await runIn(place, ["sh", "-c", told.stdout.replaceAll(server.base, empty.base)]);
  expect([lost.exit, empty.asked]).toEqual([22, ["/koda/install.sh"]]);
});

test("the command is found for the file itself, whatever links lead to it", async () => {
  await using place = makePlace();
  const program = install(place, "lib/node_modules/koda-cli/node_modules/@koda-cli/linux-x64/bin/koda");
  const { stdout, exit } = await runIn(place, ["sh", "-c", `ln -s '${program}' koda && ./koda upgrade --json`]);
  expect(exit).toBe(0);
  const command = "npm install -g koda-cli@latest";
  expect(JSON.parse(stdout)).toEqual({ installed: "npm", path: program, command });
});

test.skipIf(Bun.which("curl") === null)(
  "the command for the Debian package installs the one that it has verified",
  async () => {
    const deb = "a package";
    const name = "koda_9.9.9_amd64.deb";
    const sum = sha256(deb);
    for (const [content, isInstalled] of [
      [deb, true],
      ["another one", false],
    ] as const) {
      await using place = makePlace({ "bin/sudo": '#!/bin/sh\necho "as root: $*"\n' });
      chmodSync(join(place.project, "bin/sudo"), 0o755);
      const sums = `${sum}  ${name}\n${sum}  koda_9.9.9_arm64.deb\n`;
      await using server = serve({ "/SHA256SUMS": sums, [`/${name}`]: content });
      const { command = "" } = installationOf({
        path: "/usr/bin/koda",
        debianPackage: "koda",
        debianArch: "amd64",
        downloadBase: server.base,
        list: () => [],
        isContainer: false,
      });
      const env = { PATH: `${join(place.project, "bin")}:${place.env.PATH ?? ""}` };
      const ran = await runIn(place, ["sh", "-c", command], { env });
      expect(ran.stdout.includes(`as root: apt-get install ./${name}\n`), ran.stderr).toBe(isInstalled);
      expect(ran.exit === 0).toBe(isInstalled);
    }
  },
);

test("where there is no command koda says why, with exit 1", async () => {
  await using place = makePlace();
  const program = install(place, "Cellar/koda/1/bin/koda");
  const { stdout, stderr, exit } = await runIn(place, [program, "upgrade"]);
  expect([exit, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("by something else: upgrade it with that");
});
