import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makePlace, type Place } from "../../../support/place.ts";
import { type OpenTier, openTier, type User, users } from "../../../support/tiers.ts";

/** Not in /tmp, of which commands see nothing but what is theirs. */
const elsewhere = "/var/tmp";

/** A home with secrets in it, and a project beside it. */
function makeHome(): Place {
  const place = makePlace({ "src/file": "the project's" }, elsewhere);
  put(place.home, {
    ".bashrc": "the user's",
    ".ssh/id": "secret",
    ".ssh/tool": "echo secret",
    ".netrc": "secret",
    ".config/gh/hosts": "secret",
    ".config/other/settings": "to be read",
    ".local/share/koda/koda.db": "secret",
    "code/readme": "to be read",
  });
  chmodSync(join(place.home, ".ssh/tool"), 0o755);
  symlinkSync(".ssh/id", join(place.home, "shortcut"));
  return place;
}

function put(directory: string, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
}

async function openIn(place: Place, user: User, rules: Parameters<typeof openTier>[2] = {}): Promise<OpenTier> {
  return await openTier("landlock", place, { user, ...rules });
}

describe.each(users)("in the Landlock tier, as %s,", (user) => {
  let place: Place;
  let tier: OpenTier;
  beforeAll(async () => {
    place = makeHome();
    tier = await openIn(place, user);
  });
  afterAll(async () => {
    await tier[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  test.each([
    ["a file of the project", "echo new > src/file2 && cat src/file2", "new"],
    ["a directory, renamed and removed", "mkdir -p a/b && mv a/b c && ls -d c && rm -r a c", "c"],
    ["a symlink, a pipe and a hard link", "ln -s x l && mkfifo p && echo 1 > f && ln f g && cat g", "1"],
    ["the directory for temporary files", 'f=$(mktemp) && echo ok > "$f" && cat "$f"', "ok"],
    ["/dev/null", "echo x > /dev/null && cat /dev/null && echo ok", "ok"],
    ["its own streams by their names", "echo ok > /dev/stdout && echo x > /proc/self/fd/2", "ok"],
  ])("a command can write %s", async (_, command, printed) => {
    const { exit, stdout } = await tier.run(command);
    expect([exit, stdout.trim()]).toEqual([0, printed]);
  });

  test.each([
    ["a file of the user", "echo x > ~/.bashrc"],
    ["a new file beside it", "echo x > ~/evil"],
    ["it by a grandchild that left", "setsid -w nohup sh -c 'echo x > ~/evil'"],
    ["through a symlink in the project", "ln -sfn ~ src/home && echo x > src/home/.bashrc"],
    ["through a directory it has open", "exec 9< ~/code && echo x > /proc/self/fd/9/evil"],
    ["what it has open for reading", "exec 9< ~/.bashrc && echo x > /proc/self/fd/9"],
    ["a file's length", "truncate -s 0 ~/.bashrc"],
    ["a file away", "rm -f ~/.bashrc"],
    ["a directory away", "rmdir ~/code || mv ~/code ~/gone || mv ~/code ."],
    ["a file into the project", "mv ~/.bashrc src/ || ln ~/.bashrc src/link"],
    ["a file out of the project", "echo x > out && mv out ~/evil"],
    ["beside the project", "echo x > ../evil"],
    ["the place of the project", "mv ../project ../moved || mkdir ../other"],
    ["in /tmp", "f=/tmp/koda-evil-$$; echo x > $f && rm $f"],
    ["in /var/tmp", `f=${elsewhere}/koda-evil-$$; echo x > $f && rm $f`],
    ["in shared memory", "f=/dev/shm/koda-evil-$$; echo x > $f && rm $f"],
    ["about its own process", "echo 0 > /proc/self/oom_score_adj"],
  ])("a command cannot write %s", async (_, command) => {
    const { exit, stderr } = await tier.run(command);
    expect(exit).not.toBe(0);
    expect(stderr).toMatch(/Permission denied|Invalid cross-device link|Operation not permitted/);
    expect(readFileSync(join(place.home, ".bashrc"), "utf8")).toBe("the user's");
    expect(existsSync(join(place.home, "code/readme"))).toBe(true);
    for (const name of ["home/evil", "home/gone", "evil", "moved", "other"])
      expect(existsSync(join(dirname(place.project), name))).toBe(false);
  });

  test.each([
    ["files of the user", "cat ~/.bashrc", "the user's"],
    ["what lies beside something hidden", "cat ~/.config/other/settings ~/code/readme", "to be readto be read"],
    ["all names in directories that hold something hidden", "ls -d / ~/code && ls / ~ > /dev/null && echo ok", /ok/],
    ["the system", "test -s /etc/passwd && ls /usr/bin > /dev/null && test -r /proc/self/status && echo ok", "ok"],
    ["the kernel's settings", "cat /proc/sys/kernel/ostype && ls /sys > /dev/null", "Linux"],
    ["devices that everybody may use", "head -c 3 /dev/zero | tr '\\0' z; head -c 0 /dev/urandom", "zzz"],
  ])("a command can read %s", async (_, command, printed) => {
    const { exit, stdout, stderr } = await tier.run(command);
    expect(stderr).toBe("");
    expect(stdout.trim()).toMatch(printed);
    expect(exit).toBe(0);
  });

  test.each([
    ["a hidden directory", "cat ~/.ssh/id"],
    ["a hidden file", "cat ~/.netrc"],
    ["one that is hidden deeper down", "cat ~/.config/gh/hosts"],
    ["koda's own state", "cat ~/.local/share/koda/koda.db"],
    ["one by a symlink of the user's", "cat ~/shortcut"],
    ["one by a symlink of its own", "ln -sfn ~/.ssh/id src/key && cat src/key"],
    ["one by /proc", 'cat "/proc/self/root$HOME/.ssh/id"'],
    ["one by its own directory", "cd ~/.ssh && cat id"],
    ["one by a hard link of its own", "ln ~/.netrc src/netrc && cat src/netrc"],
    ["one by moving it", "mv ~/.netrc src/netrc && cat src/netrc"],
    ["one by a copy that shares its blocks", "cp --reflink=auto ~/.netrc src/netrc"],
    ["one by executing it", "~/.ssh/tool"],
  ])("a command cannot read %s", async (_, command) => {
    const { exit, stdout, stderr } = await tier.run(command);
    expect(exit).not.toBe(0);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/Permission denied|Invalid cross-device link|Operation not permitted/);
  });
});

describe.each(users)("from one command to the next, as %s,", (user) => {
  test("what came meanwhile can be read, and only what is hidden cannot", async () => {
    await using place = makeHome();
    await using tier = await openIn(place, user);
    expect((await tier.run("ls ~")).exit).toBe(0);
    put(place.home, { later: "later", ".config/later/file": "later", ".aws/credentials": "secret" });
    expect(await tier.run("cat ~/later ~/.config/later/file")).toMatchObject({ exit: 0, stdout: "laterlater" });
    expect(await tier.run("cat ~/.aws/credentials")).toMatchObject({ exit: 1, stdout: "" });
    expect(await tier.run("echo a > new && mkdir d && echo b > d/new")).toMatchObject({ exit: 0 });
    expect(await tier.run("cat new d/new")).toMatchObject({ exit: 0, stdout: "a\nb\n" });
  });

  test("a hidden directory that was moved away and back is hidden again", async () => {
    await using place = makeHome();
    await using tier = await openIn(place, user);
    renameSync(join(place.home, ".ssh"), join(place.home, "aside"));
    expect((await tier.run("cat ~/.ssh/id")).exit).toBe(1);
    renameSync(join(place.home, "aside"), join(place.home, ".ssh"));
    expect((await tier.run("cat ~/.ssh/id")).exit).toBe(1);
  });

  test("a root inside of another root cannot be turned into a way out", async () => {
    await using place = makeHome();
    mkdirSync(join(place.project, "inner"));
    await using tier = await openIn(place, user, { grants: { write: [join(place.project, "inner")] } });
    expect(await tier.run("mv inner moved && ln -s ~/.ssh inner")).toMatchObject({ exit: 0 });
    expect(await tier.run("cat inner/id || echo x > inner/new")).toMatchObject({ exit: 1, stdout: "" });
    expect(existsSync(join(place.home, ".ssh/new"))).toBe(false);
  });

  test("what comes to be hidden in the project stops commands", async () => {
    await using place = makePlace({}, elsewhere);
    const secret = join(place.project, "secret");
    await using tier = await openIn(place, user, { grants: { hide: [secret] } });
    expect(await tier.run("echo ok")).toMatchObject({ exit: 0 });
    writeFileSync(secret, "secret");
    await expect(tier.run("cat secret")).rejects.toThrow(`"${secret}" is hidden and lies where commands may write`);
    rmSync(secret);
    expect(await tier.run("echo ok")).toMatchObject({ exit: 0 });
  });
});

describe.each(users)("what a run was granted counts, as %s:", (user) => {
  test("in mode plan only temporary files can be written", async () => {
    await using place = makeHome();
    await using tier = await openIn(place, user, { grants: { mode: "plan" } });
    expect(await tier.run("cat src/file; echo x > src/file || echo x > new")).toMatchObject({
      exit: 1,
      stdout: "the project's",
    });
    expect((await tier.run('echo x > "$TMPDIR/file"')).exit).toBe(0);
  });

  test("a project in /tmp can be worked in, and nothing else there is to be read", async () => {
    await using place = makePlace({ file: "the project's" }, "/tmp");
    await using tier = await openIn(place, user);
    writeFileSync(join(dirname(place.project), "beside"), "somebody's");
    expect(await tier.run("cat file && echo x > new && cat ../beside")).toMatchObject({
      exit: 1,
      stdout: "the project's",
    });
  });

  test("a directory in a hidden one can be shown, or be written", async () => {
    await using place = makeHome();
    const [shown, written] = [join(place.home, ".ssh/shown"), join(place.home, ".ssh/written")];
    put(place.home, { ".ssh/shown/file": "shown", ".ssh/written/file": "to be written" });
    await using tier = await openIn(place, user, { grants: { read: [shown], write: [written] } });
    const { stdout } = await tier.run("cd ~/.ssh; cat shown/file; echo x >> shown/file; echo x > written/file; cat id");
    expect(stdout).toBe("shown");
    expect(readFileSync(join(written, "file"), "utf8")).toBe("x\n");
    expect(readFileSync(join(shown, "file"), "utf8")).toBe("shown");
  });

  test("a hidden path that leads elsewhere hides that place", async () => {
    await using place = makeHome();
    put(place.home, { "keys/id": "secret" });
    const link = join(place.home, ".gnupg");
    symlinkSync("keys", link);
    await using tier = await openIn(place, user);
    expect(await tier.run("cat ~/.gnupg/id || cat ~/keys/id")).toMatchObject({ exit: 1, stdout: "" });
  });

  test("a hard link that the user made to a hidden file is a known gap", async () => {
    await using place = makeHome();
    linkSync(join(place.home, ".netrc"), join(place.home, "linked"));
    await using tier = await openIn(place, user);
    expect(await tier.run("cat ~/linked")).toMatchObject({ exit: 0, stdout: "secret" });
    expect(tier.backend.notes.join("\n")).toContain("a hard link");
  });
});
