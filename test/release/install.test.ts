import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { archive, install, isInstallable, serveRelease } from "../support/installer.ts";
import { makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

const shells = [["dash"], ["busybox", "sh"], ["bash"]].filter(([name = ""]) => Bun.which(name) !== null);
const binIn = ({ home }: Place) => join(home, ".local/bin");

test.skipIf(Bun.which("shellcheck") === null)("shellcheck has nothing to say", () => {
  const { stdout, exitCode } = Bun.spawnSync(["shellcheck", "install.sh"], { stdout: "pipe" });
  expect(stdout.toString()).toBe("");
  expect(exitCode).toBe(0);
});

describe.skipIf(!isInstallable).each(shells)("in %s", (...shell) => {
  test("the program and its pages go below ~/.local, and nothing else stays", async () => {
    await using release = await serveRelease();
    await using place = makePlace();
    const ran = await install({ place, base: release.base, shell });
    expect(ran.stderr).toBe("");
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain(`Installed 9.9.9: ${binIn(place)}/koda`);
    expect(ran.stdout).toContain(`export PATH="${binIn(place)}:$PATH"`);
    expect(readdirSync(binIn(place))).toEqual(["koda"]);
    expect(existsSync(join(place.home, ".local/share/man/man1/koda.1"))).toBe(true);
    expect((await runIn(place, [join(binIn(place), "koda")])).stdout).toBe("9.9.9\n");
    expect(release.asked).toEqual(["SHA256SUMS", `${archive}.tar.xz`]);
  });

  const damages = {
    "a wrong checksum": (files: Files) => files.set(`${archive}.tar.xz`, "something else"),
    "a download that was cut": (files: Files) =>
      files.set(`${archive}.tar.xz`, (files.get(`${archive}.tar.xz`) as Uint8Array).slice(0, -1)),
    "a list without the archive": (files: Files) => files.set("SHA256SUMS", `${"0".repeat(64)}  other.tar.xz\n`),
    "an archive that is not there": (files: Files) => files.delete(`${archive}.tar.xz`),
    "a list that is not there": (files: Files) => files.delete("SHA256SUMS"),
  };
  for (const [what, change] of Object.entries(damages))
    test(`${what} installs nothing, and leaves the old program`, async () => {
      await using release = await serveRelease({ change });
      await using place = makePlace();
      mkdirSync(binIn(place), { recursive: true });
      writeFileSync(join(binIn(place), "koda"), "old");
      const ran = await install({ place, base: release.base, shell });
      expect(ran.exit).toBe(1);
      expect(ran.stderr).toMatch(/^(curl: .*\n)?install\.sh: .*(checksum|download)/);
      expect(readdirSync(binIn(place))).toEqual(["koda"]);
      expect(readFileSync(join(binIn(place), "koda"), "utf8")).toBe("old");
    });

  test("without xz the archive of gzip is taken, and without curl wget", async () => {
    await using release = await serveRelease();
    await using place = makePlace();
    const ran = await install({ place, base: release.base, shell, without: ["xz", "curl"], with: ["wget"] });
    expect(ran.stderr).toBe("");
    expect(release.asked).toEqual(["SHA256SUMS", `${archive}.tar.gz`]);
    expect(existsSync(join(binIn(place), "koda"))).toBe(true);
  });

  test.each([
    [["curl"], "install curl or wget"],
    [["sha256sum"], "install sha256sum, shasum or openssl"],
  ])("without %p it says what is missing", async (without, words) => {
    await using release = await serveRelease();
    await using place = makePlace();
    const ran = await install({ place, base: release.base, shell, without });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain(words);
    expect(readdirSync(binIn(place))).toEqual([]);
  });
});

type Files = Map<string, Uint8Array | string>;

describe.skipIf(!isInstallable)("install.sh", () => {
  test("installs where --to says, from a directory as well", async () => {
    await using release = await serveRelease();
    await using place = makePlace();
    const mirror = join(place.project, "mirror");
    mkdirSync(join(mirror, "v9.9.9"), { recursive: true });
    for (const [name, content] of release.files) writeFileSync(join(mirror, "v9.9.9", name), content);
    const ran = await install({ place, base: mirror, args: ["--to", "programs here"] });
    expect(ran.exit).toBe(0);
    expect(readdirSync(join(place.project, "programs here"))).toEqual(["koda"]);
    expect(release.asked).toEqual([]);
  });

  test("takes the version that --version says", async () => {
    await using release = await serveRelease();
    await using place = makePlace();
    const ran = await install({ place, base: release.base, args: ["--version", "v8.8.8"] });
    expect(ran.stderr).toContain("/v8.8.8/SHA256SUMS");
  });

  describe.skipIf(Bun.which("minisign") === null)("with a public key", () => {
    test("the signature of the checksums has to be right", async () => {
      await using place = makePlace();
      const [key, publicKey] = [join(place.home, "key"), join(place.home, "key.pub")];
      expect(Bun.spawnSync(["minisign", "-G", "-W", "-s", key, "-p", publicKey]).exitCode).toBe(0);
      const script = join(place.home, "install.sh");
      const words = readFileSync(publicKey, "utf8").trim().split("\n").at(-1);
      writeFileSync(script, readFileSync("install.sh", "utf8").replace(/^public_key=$/m, `public_key=${words}`));
      const sign = (files: Files) => {
        const sums = join(place.home, "SHA256SUMS");
        writeFileSync(sums, files.get("SHA256SUMS") ?? "");
        Bun.spawnSync(["minisign", "-S", "-s", key, "-m", sums]);
        return readFileSync(`${sums}.minisig`);
      };
      const signed = (files: Files) => files.set("SHA256SUMS.minisig", sign(files));
      const forged = (files: Files) => signed(files).set("SHA256SUMS", `${files.get("SHA256SUMS") as string}\n`);

      await using bad = await serveRelease({ change: forged });
      const refused = await install({ place, base: bad.base, script, with: ["minisign"] });
      expect(refused.stderr).toContain("The signature of");
      await using unsigned = await serveRelease();
      expect((await install({ place, base: unsigned.base, script, with: ["minisign"] })).exit).toBe(1);
      expect(readdirSync(binIn(place))).toEqual([]);

      await using good = await serveRelease({ change: signed });
      expect(await install({ place, base: good.base, script, with: ["minisign"] })).toMatchObject({
        exit: 0,
        stderr: "",
      });
      const unchecked = await install({ place, base: good.base, script });
      expect(unchecked).toMatchObject({ exit: 0, stderr: expect.stringContaining("only the checksum is verified") });
    });
  });

  test("replaces the koda that is there", async () => {
    await using release = await serveRelease();
    await using place = makePlace();
    for (let count = 0; count < 2; count++) expect((await install({ place: place, base: release.base })).exit).toBe(0);
    expect(readdirSync(binIn(place))).toEqual(["koda"]);
  });

  test("names another koda that comes first in PATH", async () => {
    await using release = await serveRelease();
    await using place = makePlace({ "first/koda": "#!/bin/sh\n" });
    const first = join(place.project, "first");
    chmodSync(join(first, "koda"), 0o755);
    const PATH = `${first}:${process.env.PATH}:${binIn(place)}`;
    const ran = await install({ place, base: release.base, env: { PATH } });
    expect(ran.stdout).toContain(`Another koda comes first in PATH: ${first}/koda`);
  });

  test("a place that cannot be written to is named", async () => {
    await using release = await serveRelease();
    await using place = makePlace({ file: "" });
    const into = (to: string) => install({ place, base: release.base, args: ["--to", to] });
    const below = await into("file/below");
    expect(below.stderr).toContain("Cannot create file/below: choose another directory with --to");
    const readOnly = await into("/proc/self");
    expect(readOnly.stderr).toMatch(/Cannot write to \/proc\/\S+: choose another directory with --to/);
    expect([below.exit, readOnly.exit]).toEqual([1, 1]);
  });

  test("a program that does not start is not installed", async () => {
    await using release = await serveRelease({ program: "echo no such library >&2; exit 127" });
    await using place = makePlace();
    const ran = await install({ place, base: release.base });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("no such library\ninstall.sh: The program does not start here");
    expect(readdirSync(binIn(place))).toEqual([]);
  });

  test.each([
    [["--nope"], 'Unknown argument "--nope"'],
    [["--to"], "--to needs a value"],
    [["--version", "1;id"], 'Bad version "1;id"'],
  ])("%p is refused", async (args, words) => {
    await using place = makePlace();
    const ran = await install({ place, base: "http://127.0.0.1:1", args });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain(words);
  });

  test("without an address it asks for one, and a script that was cut off does nothing", async () => {
    await using place = makePlace();
    const ran = await install({ place, base: "" });
    expect(ran.stderr).toContain("set KODA_DOWNLOAD_BASE");
    const whole = readFileSync("install.sh", "utf8");
    const script = join(place.project, "cut.sh");
    writeFileSync(script, whole.slice(0, whole.lastIndexOf('main "$@"')));
    expect(await install({ place: place, base: "http://127.0.0.1:1", script })).toMatchObject({ exit: 0, stdout: "" });
    expect(existsSync(binIn(place))).toBe(false);
  });
});
