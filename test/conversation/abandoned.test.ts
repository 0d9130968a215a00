import { describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { removeAbandoned } from "../../lib/conversation/workspace/abandoned.ts";
import { marker } from "../../lib/conversation/workspace/temporary.ts";
import { tryLock } from "../../lib/system/descriptors.ts";
import { follow, koda, start, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { isRoot, nobody } from "../support/nobody.ts";
import { makePlace, type Place } from "../support/place.ts";
import { finished } from "../support/run.ts";

const inTmp = ({ project }: Place) => fs.readdirSync(join(dirname(project), "tmp"));

/** As a killed run leaves it. */
function makeLeft(place: Place, name: string, says: string = name): string {
  const path = join(place.project, name);
  fs.mkdirSync(join(path, "tmp/a"), { recursive: true });
  fs.chmodSync(path, 0o700);
  fs.writeFileSync(join(path, "tmp/a/file"), "");
  fs.writeFileSync(join(path, marker), says);
  return path;
}

async function sweep(place: Place): Promise<void> {
  await removeAbandoned([], place.project).removed;
}

test("the next run removes what a killed one left, and nothing of one that lives", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    call("Bash", { command: "touch made; echo begun; sleep 20" }),
    call("Bash", { command: "touch made; echo begun; sleep 20" }),
    say("Done."),
  ]);
  const begin = async () => {
    const child = start(place, ["exec", "--json", ...using(server), "wait"]);
    const running = follow(child);
    await running.until((line) => line.type === "tool.output" && line.text.includes("begun"));
    return { child, running };
  };
  const living = await begin();
  const [own = ""] = inTmp(place);
  const killed = await begin();
  // The snapshot of the project is kept with it.
  const [other = ""] = inTmp(place).filter((name) => name !== own);
  expect(inTmp(place).sort()).toEqual([own, other].sort());
  expect(fs.readdirSync(join(dirname(place.project), "tmp", other)).join(" ")).toContain("koda-snapshot-");
  killed.child.kill("SIGKILL");
  await killed.child.exited;

  const { exit } = await koda(place, ["exec", ...using(server), "go"]);
  expect({ exit, left: inTmp(place) }).toEqual({ exit: 0, left: [own] });
  living.child.kill("SIGTERM");
  await living.running.finished();
  expect(inTmp(place)).toEqual([]);
});

test("what a command left running does not keep it, nor is it kept by its own end", async () => {
  await using place = makePlace();
  const script = "setsid sleep 1000 > /dev/null 2>&1 & echo $!; kill -KILL $PPID";
  const ran = await finished(start(place, ["sandbox", "--no-sandbox", "--", "sh", "-c", script]));
  try {
    expect(ran.signal).toBe("SIGKILL");
    expect(inTmp(place)).toHaveLength(1);
    await koda(place, ["sandbox", "--", "true"]);
    expect(inTmp(place)).toEqual([]);
  } finally {
    process.kill(Number(ran.stdout));
  }
});

test("what many runs left goes, however many look for it at once", async () => {
  await using place = makePlace();
  const names = Array.from({ length: 20 }, (_, index) => `koda-${String(index).padStart(6, "0")}`);
  for (const name of names) makeLeft(place, name);
  await Promise.all(Array.from({ length: 5 }, async () => await sweep(place)));
  expect(fs.readdirSync(place.project)).toEqual([]);
});

describe("nothing else is removed:", () => {
  test("a directory that koda did not make", async () => {
    await using place = makePlace({ "koda-abcdef/file": "", "koda-fedcba": "" });
    fs.chmodSync(join(place.project, "koda-abcdef"), 0o700);
    makeLeft(place, "koda-too-long");
    makeLeft(place, "other-abcdef");
    const before = fs.readdirSync(place.project);
    await sweep(place);
    expect(fs.readdirSync(place.project)).toEqual(before);
  });

  test("a copy of one, and one that was put elsewhere", async () => {
    await using place = makePlace();
    makeLeft(place, "koda-backup", "koda-abcdef");
    fs.renameSync(makeLeft(place, "koda-123456"), join(place.project, "koda-654321"));
    await sweep(place);
    expect(fs.readdirSync(place.project).sort()).toEqual(["koda-654321", "koda-backup"]);
  });

  test("one whose owner lives", async () => {
    await using place = makePlace();
    const path = makeLeft(place, "koda-abcdef");
    const lock = fs.openSync(path, "r");
    tryLock(lock, "alone");
    await sweep(place);
    expect(fs.existsSync(join(path, "tmp/a/file"))).toBe(true);
    fs.closeSync(lock);
    await sweep(place);
    expect(fs.existsSync(path)).toBe(false);
  });

  test.skipIf(!isRoot)("one of another user", async () => {
    await using place = makePlace();
    const path = makeLeft(place, "koda-abcdef");
    fs.chownSync(path, nobody, nobody);
    await sweep(place);
    expect(fs.existsSync(join(path, "tmp/a/file"))).toBe(true);
  });

  test("one into which others may write", async () => {
    await using place = makePlace();
    const path = makeLeft(place, "koda-abcdef");
    fs.chmodSync(path, 0o777);
    await sweep(place);
    expect(fs.existsSync(join(path, "tmp/a/file"))).toBe(true);
  });

  test("what a symlink leads to", async () => {
    await using place = makePlace({ "kept/file": "" });
    const target = join(place.project, "kept");
    fs.chmodSync(target, 0o700);
    fs.symlinkSync(target, join(place.project, "koda-abcdef"));
    fs.writeFileSync(join(target, marker), "koda-abcdef");
    fs.symlinkSync(target, join(makeLeft(place, "koda-123456"), "tmp/link"));
    await sweep(place);
    expect(fs.readdirSync(place.project).sort()).toEqual(["kept", "koda-abcdef"]);
    expect(fs.existsSync(join(target, "file"))).toBe(true);
  });

  test("when the place cannot be listed", async () => {
    await using place = makePlace({ "koda-abcdef": "" });
    for (const unlisted of ["missing", "koda-abcdef"]) await removeAbandoned([], join(place.project, unlisted)).removed;
    expect(fs.readdirSync(place.project)).toEqual(["koda-abcdef"]);
  });
});
