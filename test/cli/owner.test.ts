import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { asInDocker, programWithout } from "../support/denied.ts";
import { binary, checkLines, type Line, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { isRoot } from "../support/nobody.ts";
import { makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

/** The owner of the project; no account has this number. */
const owner = 41_234;

/** koda with less than all of root's rights. */
const without = (right: string) => ["setpriv", `--bounding-set=-${right}`];

type Start = (place: Place) => readonly string[];
const places: readonly [name: string, start: Start][] = [
  ["with namespaces", () => []],
  ["in a container of Docker's", ({ project }) => [programWithout(asInDocker, dirname(project))]],
];

describe.skipIf(!isRoot)("root in a project that belongs to another user", () => {
  test.each(places)("file tools and commands both write, %s", async (_, start) => {
    await using place = foreignPlace();
    const { events, notes } = await runBoth(place, start(place));
    expect(events.filter(isFailed)).toEqual([]);
    for (const path of ["command", "tool"]) expect(ownerOf(place, path)).toBe(0);
    expect(notes).toContain(`user ${owner}`);
  });

  test.each(["setuid", "dac_override"])(
    "neither of them writes when koda has no CAP_%s, and each says why",
    async (right) => {
      await using place = foreignPlace();
      const { events, notes } = await runBoth(place, without(right));
      const failed = events.filter(isFailed).map((event) => JSON.stringify(event));
      expect(failed).toHaveLength(2);
      for (const said of failed) expect(said).toContain(`belongs to user ${owner} (koda doctor says why)`);
      for (const path of ["command", "tool"]) expect(existsSync(join(place.project, path))).toBe(false);
      const why = `commands cannot write what belongs to user ${owner}: koda has no CAP_${right.toUpperCase()}`;
      expect(notes).toContain(why);
      expect(await doctor(place, without(right))).toContain(why);
    },
  );

  test("secrets in other users' homes are hidden then", async () => {
    await using place = foreignPlace();
    const list = place.write("../passwd", `theirs:x:${owner}:${owner}::${place.home}/theirs:/bin/sh\n`);
    const secret = place.write("../home/theirs/.ssh/id", "secret");
    const profile = place.write("../home/theirs/.profile", "private");
    const start = ["unshare", "--mount", "sh", "-c", `mount --bind ${list} /etc/passwd && exec "$@"`, "sh"];
    const { stdout, stderr } = await runIn(place, [...start, binary, "sandbox", "--", "cat", profile, secret]);
    expect(stdout).toBe("private");
    expect(stderr).toContain("Permission denied");
  });
});

test.skipIf(!isRoot)(
  "a directory of another user in root's own project is refused to tools as to commands",
  async () => {
    await using place = makePlace({ "theirs/file": "" }, "/var/tmp");
    chownSync(join(place.project, "theirs"), owner, owner);
    const { events } = await runBoth(place, [], "theirs/");
    const failed = events.filter(isFailed).map((event) => JSON.stringify(event));
    expect(failed).toHaveLength(2);
    for (const said of failed)
      expect(said).toContain(`belongs to user ${owner} (--allow-write ${place.project}/theirs opens it)`);

    const opened = await runBoth(place, [], "theirs/", ["--allow-write", join(place.project, "theirs")]);
    expect(opened.events.filter(isFailed)).toEqual([]);
  },
);

function foreignPlace(): Place {
  const place = makePlace({ file: "" }, "/var/tmp");
  for (const path of [place.project, join(place.project, "file")]) chownSync(path, owner, owner);
  return place;
}

/** A run in which a command and a file tool each make a file. */
async function runBoth(place: Place, start: readonly string[], below = "", flags: readonly string[] = []) {
  await using server = await startModelServer([
    call("Bash", { command: `echo x > ./${below}command` }),
    call("Write", { path: `${below}tool`, content: "x\n" }),
    say("Done."),
  ]);
  const argv = [...start, binary, "exec", "--json", ...using(server), ...flags, "do it"];
  const { events } = checkLines(await runIn(place, argv));
  const [first] = events;
  return { events, notes: first?.type === "session.start" ? first.sandbox.notes.join("\n") : "" };
}

async function doctor(place: Place, start: readonly string[]): Promise<string> {
  return (await runIn(place, [...start, binary, "doctor", "--json"])).stdout;
}

function isFailed(event: Line): boolean {
  return event.type === "tool.end" && !event.ok;
}

function ownerOf({ project }: Place, path: string): number {
  return lstatSync(join(project, path)).uid;
}

test.skipIf(!isRoot)(
  "a protected path that only another user may enter does not keep commands from running",
  async () => {
    await using place = makePlace();
    const theirs = place.write("theirs/deep/.git/HEAD", "ref: refs/heads/main\n");
    const closed = join(place.project, "theirs");
    chownSync(closed, owner, owner);
    chmodSync(closed, 0o700);
    const script = `echo ok; echo x > ${theirs}`;
    const { stdout, stderr } = await runIn(place, [binary, "sandbox", "--", "sh", "-c", script]);
    expect(stdout, stderr).toBe("ok\n");
    expect(stderr).toContain("Permission denied");
    expect(readFileSync(theirs, "utf8")).toBe("ref: refs/heads/main\n");
  },
);
