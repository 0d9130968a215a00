import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { binary, exec, follow, koda, start, using } from "../support/koda.ts";
import { call, say, silence } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { until } from "../support/until.ts";
import { runGit, undo } from "../support/worktree.ts";

/** Runs one turn for each command, in the session `s`; the project is a repository with one commit. */
async function turns(place: Place, ...commands: readonly string[]) {
  const script = commands.flatMap((command) => [call("Bash", { command }), say("Done.")]);
  await using server = await startModelServer(script);
  for (const command of commands) {
    const { end } = await exec(place, server, ["--session", "s", `run: ${command}`]);
    expect(end).toMatchObject({ status: "done" });
  }
}

function commit(place: Place, message = "start"): void {
  runGit(place.project, place.env, ["init", "-q"]);
  runGit(place.project, place.env, ["add", "-A"]);
  runGit(place.project, place.env, ["commit", "-q", "-m", message]);
}

/** Everything in the project with its mode; with the times of what is in .git. */
function picture(place: Place): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of fs.readdirSync(place.project, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const { mode, mtimeMs } = fs.lstatSync(path);
    const content = entry.isFile()
      ? Bun.hash(fs.readFileSync(path))
      : entry.isSymbolicLink()
        ? fs.readlinkSync(path)
        : "";
    const time = path.includes("/.git/") ? ` ${mtimeMs}` : "";
    found[path.slice(place.project.length + 1)] = `${mode.toString(8)} ${content}${time}`;
  }
  return found;
}

const rollback = (place: Place, ...args: readonly string[]) => koda(place, ["session", "rollback", "s", ...args]);
const snapshotsOf = (place: Place) => join(place.home, ".local/share/koda/snapshots");

test("the files of the last turns are restored, and the model no longer sees the turns", async () => {
  await using place = makePlace({
    ".gitignore": "*.log\n",
    "a.txt": "a\n",
    "dir/b.txt": "b\n",
    "gone.txt": "g\n",
    "run.sh": "#!/bin/sh\n",
  });
  commit(place);
  place.write("a.txt", "staged\n");
  runGit(place.project, place.env, ["add", "a.txt"]);
  place.write("a.txt", "dirty\n");
  place.write("untracked", "u\n");
  place.write("large", Buffer.alloc(11 * 1024 * 1024, "large "));
  await turns(place, "echo kept > kept.txt");
  const before = picture(place);
  await turns(
    place,
    "echo 1 > a.txt; rm gone.txt; mv dir moved; chmod +x run.sh; ln -s a.txt link; rm untracked; : > large",
    "echo 2 > a.txt; mkdir -p new/er; echo n > new/er/n; echo log > x.log; echo b2 > moved/b.txt",
  );
  const after = picture(place);

  const dry = await rollback(place, "2", "--files", "--dry-run", "--json");
  expect(JSON.parse(dry.stdout)).toEqual({
    session: "s",
    turns: 2,
    dry_run: true,
    files: {
      restored: [
        { path: "a.txt", action: "update" },
        { path: "dir/b.txt", action: "create" },
        { path: "gone.txt", action: "create" },
        { path: "large", action: "update" },
        { path: "link", action: "delete" },
        { path: "moved/b.txt", action: "delete" },
        { path: "new/er/n", action: "delete" },
        { path: "run.sh", action: "update" },
        { path: "untracked", action: "create" },
      ],
      kept: [],
      unrestorable: [],
    },
  });
  expect(picture(place)).toEqual(after);

  const ran = await rollback(place, "2", "--files");
  expect(ran).toMatchObject({ exit: 0, stderr: "" });
  expect(ran.stdout).toStartWith("Dropped 2 turns of s\n  update a.txt\n  create dir/b.txt\n");
  const { "x.log": log, ...restored } = picture(place);
  expect(restored).toEqual(before);
  expect(log).toBeDefined();

  await using server = await startModelServer([say("ok")]);
  await exec(place, server, ["--session", "s", "and now?"]);
  const seen = (server.requests[0]?.lines ?? []).map(({ text }) => text).join("\n");
  expect(seen).toContain("echo kept");
  expect(seen).not.toContain("echo 1 >");
  expect(server.problems).toEqual([]);
});

test("the objects of git are not needed, and another rollback goes on from there", async () => {
  await using place = makePlace({ "a.txt": "a\n", "b.txt": "b\n" });
  commit(place);
  const { ".git": _, ...before } = filesOf(picture(place));
  await turns(place, "echo 1 > a.txt", "echo 2 > a.txt; echo 2 > b.txt", "echo 3 > a.txt");
  runGit(place.project, place.env, ["add", "-A"]);
  runGit(place.project, place.env, ["commit", "-q", "--amend", "-m", "all"]);
  runGit(place.project, place.env, ["reflog", "expire", "--expire=now", "--all"]);
  runGit(place.project, place.env, ["gc", "-q", "--prune=now"]);
  for (const n of ["1", "1"]) expect(await rollback(place, n, "--files")).toMatchObject({ exit: 0, stderr: "" });
  expect(fs.readFileSync(join(place.project, "a.txt"), "utf8")).toBe("1\n");
  await turns(place, "echo 4 > a.txt; echo 4 > b.txt");
  const ran = await rollback(place, "9", "--files");
  expect(ran.stdout).toBe(
    "Dropped 2 turns of s, all that there are (9 were asked for)\n  update a.txt\n  update b.txt\n",
  );
  expect(filesOf(picture(place))).toEqual(before);
  expect((await rollback(place, "1", "--files")).stdout).toStartWith("Dropped 0 turns of s, all that there are");
});

function filesOf(found: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(found).filter(([path]) => !path.startsWith(".git")));
}

test("a turn that was dropped without its files is undone with those before it", async () => {
  await using place = makePlace({ "a.txt": "a\n", "b.txt": "b\n" });
  await turns(place, "echo 1 > a.txt", "echo 2 > b.txt; echo 2 > a.txt");
  expect((await rollback(place, "1")).stdout).toBe("Dropped 1 turn of s\n");
  expect((await rollback(place, "1", "--files")).stdout).toBe("Dropped 1 turn of s\n  update a.txt\n  update b.txt\n");
});

test("a file that the user changed since is named and kept, and --force restores it", async () => {
  await using place = makePlace({ "a.txt": "a\n", "b.txt": "b\n" });
  await turns(place, "echo 1 > a.txt; echo 1 > b.txt");
  place.write("b.txt", "mine\n");
  const ran = await rollback(place, "1", "--files", "--dry-run");
  expect(ran.stdout).toBe(
    "Would drop 1 turn of s\n  update a.txt\n  keep b.txt: it was changed since koda's last turn\n",
  );
  expect(await rollback(place, "1", "--files")).toMatchObject({ exit: 0 });
  expect(["a.txt", "b.txt"].map((name) => fs.readFileSync(join(place.project, name), "utf8"))).toEqual([
    "a\n",
    "mine\n",
  ]);
  await turns(place, "echo 2 > a.txt; echo 2 > b.txt");
  place.write("b.txt", "mine again\n");
  expect(await rollback(place, "1", "--files", "--force")).toMatchObject({ exit: 0 });
  expect(fs.readFileSync(join(place.project, "b.txt"), "utf8")).toBe("mine\n");
});

test("a change of the user's between the turns is undone with them, and that is said", async () => {
  await using place = makePlace({ "a.txt": "a\n", "new\nline\u001b": "n\n" });
  await turns(place, "echo 1 > a.txt");
  place.write("a.txt", "mine\n");
  await turns(place, "echo 2 > a.txt; rm new*");
  expect((await rollback(place, "2", "--files")).stdout).toBe(
    "Dropped 2 turns of s\n  update a.txt (with your changes between these turns)\n  create new\\nline\\u001b\n",
  );
});

test("after a crash between the files and the conversation the same command goes on", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await turns(place, "echo 1 > a.txt; echo b > b.txt");
  await undo({ snapshots: snapshotsOf(place), session: "s", by: "turn", seq: 1 });
  place.write(".koda-rollback-s/0", "a\n");
  expect((await rollback(place, "1", "--files")).stdout).toBe("Dropped 1 turn of s\nNo file differs\n");
  expect(fs.readdirSync(place.project)).toEqual(["a.txt"]);
});

test("when the conversation cannot be rolled back after the files, that is said, and the next try goes on", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await turns(place, "echo 1 > a.txt");
  const change = (sql: string) => {
    using database = new Database(join(place.home, ".local/share/koda/koda.db"));
    database.run(sql);
  };
  change(`CREATE TRIGGER full BEFORE INSERT ON item WHEN new.kind = 'rollback'
    BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  const failed = await rollback(place, "1", "--files");
  expect(failed).toMatchObject({ exit: 10, stdout: "" });
  expect(failed.stderr).toContain("The files are restored already, the conversation is as it was");
  expect(fs.readFileSync(join(place.project, "a.txt"), "utf8")).toBe("a\n");
  change("DROP TRIGGER full");
  expect((await rollback(place, "1", "--files")).stdout).toBe("Dropped 1 turn of s\nNo file differs\n");
});

test("a rollback that is killed while it restores files is finished by the next one", async () => {
  const names = Array.from({ length: 400 }, (_, index) => `src/${index % 7}/file${index}`);
  await using place = makePlace(Object.fromEntries(names.map((name) => [name, `${name}\n`.repeat(200)])));
  const before = picture(place);
  await turns(place, "for f in src/*/*1*; do rm $f; done; for f in src/*/*2*; do echo x > $f; done; mv src/3 moved");
  const staging = join(place.project, ".koda-rollback-s");
  for (const files of [1, 30, 100]) {
    const child = start(place, ["session", "rollback", "s", "1", "--files"]);
    const isStaged = () => fs.existsSync(staging) && fs.readdirSync(staging).length >= files;
    await until(() => child.exitCode !== null || isStaged());
    child.kill("SIGKILL");
    await child.exited;
  }
  // One of them may have come to its end; then there is nothing left to do.
  expect(await rollback(place, "1", "--files")).toMatchObject({ exit: 0, stderr: "" });
  expect(picture(place)).toEqual(before);
  expect((await rollback(place, "1")).stdout).toStartWith("Dropped 0 turns");
});

test("a rollback knows how an interrupted one left the files", async () => {
  await using place = makePlace({ "a.txt": "a\n", "b.txt": "b\n" });
  await turns(place, "echo 1 > a.txt; echo 1 > b.txt", "echo 2 > a.txt; echo 2 > b.txt");
  place.write("a.txt", "1\n");
  expect((await rollback(place, "1", "--files")).stdout).toBe("Dropped 1 turn of s\n  update b.txt\n");
  expect((await rollback(place, "1", "--files")).stdout).toBe(
    "Dropped 1 turn of s\n  update a.txt (with your changes between these turns)\n  update b.txt\n",
  );
});

test("it is refused while a turn runs", async () => {
  await using place = makePlace();
  await using server = await startModelServer([[say("Holding."), silence()]]);
  const child = start(place, ["exec", "--json", ...using(server), "--session", "s", "hold it"]);
  const holder = follow(child);
  await holder.until(({ type }) => type === "text.delta");
  for (const flags of [[], ["--files"], ["--files", "--dry-run"]])
    expect(await rollback(place, "1", ...flags)).toMatchObject({
      exit: 10,
      stdout: "",
      stderr: "koda: Cannot rollback while a turn is in progress.\n",
    });
  child.kill("SIGTERM");
  await holder.finished();
});

test("bad numbers, ids and flags are refused", async () => {
  await using place = makePlace();
  await turns(place, "true");
  expect(await rollback(place, "0")).toMatchObject({ exit: 2, stderr: "koda: num_turns must be >= 1\n" });
  expect(await rollback(place, "some")).toMatchObject({ exit: 2 });
  expect(await rollback(place, "1", "--force")).toMatchObject({ exit: 2 });
  expect(await koda(place, ["session", "rollback", "none", "1"])).toMatchObject({ exit: 10 });
  expect(await koda(place, ["session", "fork", "none"])).toMatchObject({ exit: 10 });
});

test("a fork has the files of its turns, though its parent is deleted", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await turns(place, "echo 1 > a.txt", "echo 2 > a.txt");
  const { stdout } = await koda(place, ["session", "fork", "s"]);
  const fork = stdout.trim();
  const listed = JSON.parse((await koda(place, ["session", "list", "--json"])).stdout);
  expect(listed.find(({ id }: { id: string }) => id === fork)).toMatchObject({ parent: "s", turns: 2 });
  await using server = await startModelServer([say("ok")]);
  const { end } = await exec(place, server, ["--fork", "s", "again"]);
  expect(await koda(place, ["session", "rm", "s"])).toMatchObject({ exit: 0 });
  const one = await koda(place, ["session", "rollback", fork, "1", "--files", "--json"]);
  expect(JSON.parse(one.stdout)).toMatchObject({ turns: 1, files: { restored: [{ path: "a.txt" }] } });
  expect(fs.readFileSync(join(place.project, "a.txt"), "utf8")).toBe("1\n");
  // For the other fork this is no change of its own.
  const other = await koda(place, ["session", "rollback", end.session ?? "", "3", "--files", "--json"]);
  expect(JSON.parse(other.stdout)).toMatchObject({ turns: 3, files: { restored: [], kept: [{ path: "a.txt" }] } });
  expect(await koda(place, ["session", "rm", fork])).toMatchObject({ exit: 0 });
  expect(await koda(place, ["session", "prune", "--older-than", "1ms"])).toMatchObject({ exit: 0 });
  expect(stored(place)).toEqual([]);
});

/** The names of contents and manifests. */
function stored(place: Place): string[] {
  const paths = ["contents", "sessions"].map((name) => join(snapshotsOf(place), name));
  return paths.flatMap((path) => (fs.existsSync(path) ? fs.readdirSync(path) : []));
}

test("--ephemeral keeps nothing, and what is kept is for its owner alone", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await using server = await startModelServer([call("Bash", { command: "echo 1 > a.txt" }), say("Done.")]);
  await exec(place, server, ["--ephemeral", "go"]);
  expect(fs.existsSync(snapshotsOf(place))).toBe(false);
  await turns(place, `echo 2 > a.txt; cat ${snapshotsOf(place)}/*/* ; ls ${snapshotsOf(place)} >> a.txt 2>&1`);
  expect(fs.readFileSync(join(place.project, "a.txt"), "utf8")).not.toContain("contents\n");
  const paths = fs.readdirSync(snapshotsOf(place), { recursive: true }).map(String);
  expect(paths.length).toBeGreaterThan(3);
  for (const path of paths) expect(fs.lstatSync(join(snapshotsOf(place), path)).mode & 0o077).toBe(0);
});

test.each([
  ["deleted by hand", (path: string) => fs.rmSync(path, { recursive: true }), "turn 1: its snapshot is gone"],
  [
    "without its contents",
    (path: string) => fs.rmSync(join(path, "contents"), { recursive: true }),
    "a.txt: its content is gone",
  ],
  [
    "with a damaged content",
    (path: string) => damage(join(path, "contents")),
    "a.txt: its content in koda's snapshots is damaged",
  ],
  [
    "with a manifest cut short",
    (path: string) => damage(join(path, "sessions/s-s")),
    "turn 1: its snapshot is damaged",
  ],
])("a store of snapshots %s: nothing is changed, and that is said", async (_name, spoil, said) => {
  await using place = makePlace({ "a.txt": "a\n" });
  await turns(place, "echo 1 > a.txt", "echo 2 > a.txt");
  spoil(snapshotsOf(place));
  const before = picture(place);
  const ran = await rollback(place, "2", "--files");
  expect(ran).toMatchObject({ exit: 10, stdout: "" });
  expect(ran.stderr).toContain(`koda: Cannot restore all files, so nothing was changed:\n  ${said}`);
  expect(picture(place)).toEqual(before);
  expect((await rollback(place, "2", "--dry-run", "--files")).stdout).toContain(`  cannot restore ${said}`);
  expect((await rollback(place, "2")).stdout).toBe("Dropped 2 turns of s\n");
});

/** Half of each file is left, as after a crash of the machine. */
function damage(directory: string): void {
  for (const name of fs.readdirSync(directory)) {
    const path = join(directory, name);
    fs.truncateSync(path, Math.floor(fs.statSync(path).size / 2));
  }
}

test("a turn that was killed is not undone silently", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await turns(place, "echo 1 > a.txt");
  await using server = await startModelServer([call("Bash", { command: "echo 2 > a.txt; sleep 60" })]);
  const child = start(place, ["exec", "--json", ...using(server), "--session", "s", "hold it"]);
  const holder = follow(child);
  await holder.until(({ type }) => type === "tool.start");
  await until(() => fs.readFileSync(join(place.project, "a.txt"), "utf8") === "2\n");
  child.kill("SIGKILL");
  await child.exited;
  const refused = await rollback(place, "2", "--files");
  expect(refused).toMatchObject({ exit: 10 });
  expect(refused.stderr).toContain("turn 2: it was cut off before its changes were recorded");
  expect((await rollback(place, "1")).exit).toBe(0);
});

test("it works in the session's directory, wherever it is called", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await turns(place, "echo 1 > a.txt", "echo 2 > a.txt");
  const elsewhere = { cwd: place.home };
  await koda(place, ["session", "rollback", "s", "1", "--files"], elsewhere);
  expect(fs.readFileSync(join(place.project, "a.txt"), "utf8")).toBe("1\n");
  fs.renameSync(place.project, `${place.project}-moved`);
  const gone = await koda(place, ["session", "rollback", "s", "1", "--files"], elsewhere);
  expect(gone).toMatchObject({ exit: 2, stdout: "" });
  expect(gone.stderr).toContain(`koda: Cannot restore files in "${place.project}", the directory of this session`);
  expect((await koda(place, ["session", "rollback", "s", "1"], elsewhere)).exit).toBe(0);
});

const unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];
const canMount = Bun.spawnSync([...unshare, "mount -t tmpfs none /mnt"]).exitCode === 0;

/** Runs a script in which the model's one command is `koda_exec`, and that may mount. */
async function withMounts(place: Place, command: string, script: string) {
  await using server = await startModelServer([call("Bash", { command }), say("Done.")]);
  const flags = ["--no-sandbox", ...using(server), "--session", "s"].join(" ");
  const head = `koda_exec() { "${binary}" exec ${flags} go > /dev/null 2>&1 || exit 98; }
    rollback() { "${binary}" session rollback s 1 --files "$@"; }
    cd "${place.project}"\n`;
  const child = Bun.spawn([...unshare, head + script], { env: place.env, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr };
}

test.skipIf(!canMount)("a full disk is found before the first file is touched", async () => {
  await using place = makePlace();
  const { stdout, stderr } = await withMounts(
    place,
    "rm one two; echo new > three",
    `mount -t tmpfs -o size=300k none . && cd "$PWD"
    head -c 100000 /dev/urandom > one; head -c 100000 /dev/urandom > two; echo '*.log' > .gitignore
    koda_exec; head -c 150000 /dev/zero > fill.log
    rollback; echo "exit $?"; ls -A; rm fill.log
    rollback; cat one two | wc -c; ls -A`,
  );
  expect(stderr).toBe("koda: Cannot restore the files: no space left on device (ENOSPC). Nothing was changed.\n");
  expect(stdout).toBe(
    "exit 10\n.gitignore\nfill.log\nthree\n" +
      "Dropped 1 turn of s\n  create one\n  delete three\n  create two\n200000\n.gitignore\none\ntwo\n",
  );
});

test.skipIf(!canMount)("a part of the project may be another file system, which may be read-only", async () => {
  await using place = makePlace({ "a.txt": "a\n", "disk/x": "" });
  const { stdout, stderr } = await withMounts(
    place,
    "echo 1 > a.txt; echo 1 > disk/b.txt; rm disk/c.txt; ln -sf nowhere disk/link",
    `mount -t tmpfs none disk; echo b > disk/b.txt; echo c > disk/c.txt; ln -s b.txt disk/link; koda_exec
    mount -o remount,ro disk; rollback; echo "exit $?"; cat a.txt
    mount -o remount,rw disk; rollback; cat a.txt disk/b.txt disk/c.txt; readlink disk/link; ls -A disk`,
  );
  const lines = ["disk/b.txt", "disk/c.txt", "disk/link"].map((path) => `  ${path}: read-only file system (EROFS)\n`);
  expect(stderr).toStartWith(`koda: Cannot restore all files, so nothing was changed:\n${lines.join("")}`);
  expect(stdout).toBe(
    "exit 10\n1\nDropped 1 turn of s\n  update a.txt\n  update disk/b.txt\n  create disk/c.txt\n" +
      "  update disk/link\na\nb\nc\nb.txt\nb.txt\nc.txt\nlink\n",
  );
});

test("the oldest turns are forgotten when snapshots take more than 2 GiB, and that is said", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  await turns(place, "echo 1 > a.txt");
  const [first = ""] = fs.readdirSync(join(snapshotsOf(place), "contents"));
  fs.truncateSync(join(snapshotsOf(place), "contents", first), 3 * 1024 ** 3);
  fs.rmSync(join(snapshotsOf(place), "size"));
  await using server = await startModelServer([call("Bash", { command: "echo 2 > a.txt" }), say("Done.")]);
  const { events } = await exec(place, server, ["--session", "s", "go"]);
  const message =
    "koda session rollback --files can no longer restore the files of the oldest 1 turn: snapshots take no more than 2 GiB";
  expect(events).toContainEqual(expect.objectContaining({ type: "notice", code: "changes", message }));
  expect((await rollback(place, "2", "--files")).stderr).toContain("turn 1: its snapshot is gone");
  expect((await rollback(place, "1", "--files")).stdout).toContain("  update a.txt\n");
});
