import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { archive, install, isInstallable, serveRelease } from "../support/installer.ts";
import { makePlace } from "../support/place.ts";
import { runIn, spawnIn } from "../support/run.ts";

const shells = [["dash"], ["busybox", "sh"], ["bash"]].filter(([name = ""]) => Bun.which(name) !== null);

describe.skipIf(!isInstallable).each(shells)("with odd names, in %s", (...shell) => {
  test.each(['it\'s "here" $HOME `id`', "line\nend\n", "-", "-x", "a:b", "tail/", "ü"])("--to %j", async (to) => {
    await using release = await serveRelease();
    await using place = makePlace();
    const ran = await install({ place, base: release.base, shell, args: ["--to", to] });
    expect(ran).toMatchObject({ exit: 0, stderr: "" });
    expect(readdirSync(join(place.project, to))).toEqual(["koda"]);
    const [, line] = /^ {2}(export PATH=.*)$/m.exec(ran.stdout) ?? [];
    if (line === undefined) return expect(ran.stdout).toContain("is not in PATH, and has characters");
    const found = await runIn(place, ["sh", "-c", `${line}; command -v koda`]);
    expect(found.stdout).toBe(`${join(place.project, to).replace(/\/$/, "")}/koda\n`);
  });

  test("a relative --to is not looked for below CDPATH", async () => {
    await using release = await serveRelease();
    await using place = makePlace({ "elsewhere/bin/file": "" });
    const env = { CDPATH: join(place.project, "elsewhere") };
    const ran = await install({ place, base: release.base, shell, env, args: ["--to", "bin"] });
    expect(ran.stdout).toStartWith(`Installed 9.9.9: ${place.project}/bin/koda\n`);
    expect(readdirSync(join(place.project, "elsewhere/bin"))).toEqual(["file"]);
  });

  test.each([["koda/file"], ["real/file"]])("a directory with the program's name is refused (%s)", async (file) => {
    await using release = await serveRelease();
    await using place = makePlace({ [file]: "" });
    if (file === "real/file") symlinkSync("real", join(place.project, "koda"));
    const ran = await install({ place, base: release.base, shell, args: ["--to", "."] });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toBe(
      `install.sh: ${place.project}/koda is a directory: remove it, or choose another one with --to\n`,
    );
    expect(readdirSync(join(place.project, "koda"))).toEqual(["file"]);
    expect(release.asked).toEqual([]);
  });

  test.each([
    ["--to=", "--to needs a value"],
    ["--version=", "--version needs a value"],
    ["--to=~/bin", 'write --to "$HOME/bin"'],
    ["--version=1/../2", 'Bad version "1/../2"'],
  ])("%s is refused", async (flag, words) => {
    await using place = makePlace();
    const ran = await install({ place, base: "http://127.0.0.1:1", shell, args: [flag] });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain(words);
    expect(readdirSync(place.project)).toEqual([]);
  });

  test("an empty PATH is named", async () => {
    await using place = makePlace();
    const ran = await install({ place, base: "http://127.0.0.1:1", shell, env: { PATH: "/nowhere" } });
    expect(ran.exit).toBe(1);
    if (shell[0] !== "busybox") expect(ran.stderr).toBe("install.sh: Cannot find uname: is PATH set?\n");
  });
});

describe.skipIf(!isInstallable)("a mirror", () => {
  test("that has an archive of something else installs nothing", async () => {
    await using place = makePlace({ "other/bin/koda": "#!/bin/sh\n" });
    const mirror = join(place.home, "mirror/v9.9.9");
    mkdirSync(mirror, { recursive: true });
    const name = `${archive}.tar.xz`;
    await runIn(place, ["tar", "-cJf", join(mirror, name), "other"]);
    const { stdout } = await runIn(place, ["sh", "-c", `cd "${mirror}" && sha256sum ${name}`]);
    writeFileSync(join(mirror, "SHA256SUMS"), stdout);
    const ran = await install({ place, base: join(place.home, "mirror"), args: ["--to", "bin"] });
    expect(ran.stderr).toBe(`install.sh: ${name} has no ${archive}/bin/koda: nothing was installed\n`);
    expect(ran.exit).toBe(1);
    expect(readdirSync(join(place.project, "bin"))).toEqual([]);
  });

  test("without a .tar.xz has its .tar.gz taken", async () => {
    await using release = await serveRelease({
      change: (files) => {
        const lines = String(files.get("SHA256SUMS")).split("\n");
        files.set("SHA256SUMS", lines.filter((line) => !line.endsWith(".xz")).join("\n"));
        files.delete(`${archive}.tar.xz`);
      },
    });
    await using place = makePlace();
    const ran = await install({ place, base: release.base });
    expect(ran).toMatchObject({ exit: 0, stderr: "" });
    expect(release.asked).toEqual(["SHA256SUMS", `${archive}.tar.gz`]);
  });

  test("cannot fill the disk", async () => {
    await using place = makePlace();
    const piece = new Uint8Array(4 << 20);
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response(new ReadableStream({ pull: (stream) => stream.enqueue(piece) })),
    });
    const script = join(place.home, "install.sh");
    // Sixteen MiB are enough for the test.
    writeFileSync(script, readFileSync("install.sh", "utf8").replace("ulimit -f 2097152", "ulimit -f 32768"));
    const ran = await install({ place, base: `http://127.0.0.1:${server.port}`, script, args: ["--to", "bin"] });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("install.sh: Cannot download");
    expect(readdirSync(join(place.project, "bin"))).toEqual([]);
  });
});

describe.skipIf(!isInstallable)("install.sh", () => {
  test("leaves nothing when it is ended while it downloads", async () => {
    await using place = makePlace({ "bin/koda": "old" });
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch() {
        asked();
        return new Response(new ReadableStream({ start: (stream) => stream.enqueue("half") }));
      },
    });
    const env = { KODA_DOWNLOAD_BASE: `http://127.0.0.1:${server.port}` };
    const argv = ["sh", resolve("install.sh"), "--to", "bin", "--version", "9.9.9"];
    const child = spawnIn(place, argv, { env, detached: true });
    await isAsked;
    expect(readdirSync(join(place.project, "bin"))).toHaveLength(2);
    process.kill(-child.pid, "SIGTERM");
    expect(await child.exited).toBe(143);
    expect(readdirSync(join(place.project, "bin"))).toEqual(["koda"]);
    expect(readFileSync(join(place.project, "bin/koda"), "utf8")).toBe("old");
  });

  test.skipIf(process.getuid?.() !== 0)("of root is for everyone, whatever the umask", async () => {
    await using release = await serveRelease();
    await using place = makePlace();
    const strict = join(place.home, "strict.sh");
    writeFileSync(strict, `umask 077; exec sh "${resolve("install.sh")}" "$@"\n`);
    const ran = await install({ place, base: release.base, script: strict });
    expect(ran.exit).toBe(0);
    const mode = (path: string) => statSync(join(place.home, ".local", path)).mode & 0o777;
    expect([mode("bin/koda"), mode("share/man/man1"), mode("share/man/man1/koda.1")]).toEqual([0o755, 0o755, 0o644]);
  });

  test("leaves out pages that it cannot write", async () => {
    await using release = await serveRelease();
    await using place = makePlace();
    mkdirSync(join(place.home, ".local"), { recursive: true });
    writeFileSync(join(place.home, ".local/share"), "");
    const ran = await install({ place, base: release.base });
    expect(ran).toMatchObject({
      exit: 0,
      stderr: expect.stringContaining("manual pages and completions are left out"),
    });
    expect(readdirSync(join(place.home, ".local/bin"))).toEqual(["koda"]);
  });
});
