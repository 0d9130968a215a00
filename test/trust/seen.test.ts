import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createFileLog } from "../../lib/session/files.ts";
import { deleteTool } from "../../lib/tools/delete.ts";
import { globTool } from "../../lib/tools/glob.ts";
import { grepTool } from "../../lib/tools/grep.ts";
import { listTool } from "../../lib/tools/list.ts";
import { readTool } from "../../lib/tools/read.ts";
import { writeTool } from "../../lib/tools/write.ts";
import { classifyCommand } from "../../lib/trust/command.ts";
import { resolvePath, resolveEntry } from "../../lib/trust/path.ts";
import { textOf } from "../support/files.ts";
import { makePlace } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";
import { shellIn } from "../support/shell.ts";

/** The project, the run's own directory and somebody else's all lie in the host's /tmp, which the run cannot see. */
const host = realpathSync(mkdtempSync("/tmp/koda-test-"));
const [project, tmp] = [join(host, "project"), join(host, "tmp")];
const [others, named] = [join(host, "others"), join(host, "named")];
for (const directory of [project, tmp, others, named]) mkdirSync(directory);
writeFileSync(join(project, "a.txt"), "needle of the project\n");
writeFileSync(join(tmp, "out"), "needle of the run\n");
writeFileSync(join(others, "secret"), "needle of others\n");
writeFileSync(join(named, "report"), "needle that is shown\n");
symlinkSync("/tmp/out", join(project, "to-out"));
symlinkSync(join(others, "secret"), join(project, "to-secret"));
symlinkSync("/tmp", join(project, "to-tmp"));
symlinkSync("/tmp/linked", join(tmp, "dangling"));

const place = makePlace();
afterAll(async () => {
  rmSync(host, { recursive: true, force: true });
  await place[Symbol.asyncDispose]();
});

const rules = { root: project, tmp, write: [project, tmp], show: [join(named, "report")], privateTmp: true };
const policy = policyOf(place, rules);
const shell = shellIn(place, { policy });
const context = { policy, shell, files: createFileLog(), signal: new AbortController().signal, contextWindow: 100_000 };

const rows: [given: string, real: string, shown: string, kind: string][] = [
  ["/tmp", tmp, "/tmp", "directory"],
  ["/tmp/", tmp, "/tmp", "directory"],
  ["/tmp/out", join(tmp, "out"), "/tmp/out", "file"],
  ["/tmp/../tmp/./out", join(tmp, "out"), "/tmp/out", "file"],
  ["/tmp/new/file", join(tmp, "new/file"), "/tmp/new/file", "missing"],
  ["/tmp/dangling", join(tmp, "linked"), "/tmp/linked", "missing"],
  ["to-out", join(tmp, "out"), "/tmp/out", "file"],
  ["to-tmp/out", join(tmp, "out"), "/tmp/out", "file"],
  ["to-tmp/../etc", "/etc", "/etc", "directory"],
  ["/tmp/../etc", "/etc", "/etc", "directory"],
  // By the name that the host has for it.
  [join(tmp, "out"), join(tmp, "out"), "/tmp/out", "file"],
  // What lies in the host's /tmp and belongs to the run is in its own place.
  [join(project, "a.txt"), join(project, "a.txt"), "a.txt", "file"],
  ["a.txt", join(project, "a.txt"), "a.txt", "file"],
  [join(named, "report"), join(named, "report"), join(named, "report"), "file"],
  // What belongs to others is not there.
  [join(others, "secret"), join(tmp, others.slice(5), "secret"), join(others, "secret"), "missing"],
  ["../others/secret", join(tmp, others.slice(5), "secret"), join(others, "secret"), "missing"],
  ["to-secret", join(tmp, others.slice(5), "secret"), join(others, "secret"), "missing"],
  [others, join(tmp, others.slice(5)), others, "missing"],
  // Not even the directory that the project lies in, but for the project.
  ["..", join(tmp, host.slice(5)), host, "missing"],
  [named, join(tmp, named.slice(5)), named, "missing"],
];

describe("with a /tmp of its own, a run", () => {
  test.each(rows)("finds %s", (given, real, shown, kind) => {
    expect(resolvePath(given, policy)).toMatchObject({ real, shown, kind: kind as "file" });
    expect(resolvePath(given, policy).hidden).toBeUndefined();
  });

  test("reads, writes and deletes there by the names that commands see", async () => {
    expect(textOf(await writeTool.run({ path: "/tmp/w", content: "x" }, context))).toStartWith('Created "/tmp/w"');
    expect(textOf(await readTool.run({ path: "/tmp/out" }, context))).toContain("needle of the run");
    expect(await Bun.file(join(tmp, "w")).text()).toBe("x");
    expect(textOf(await deleteTool.run({ path: "/tmp/w" }, context))).toBe('Deleted "/tmp/w".');
    expect(resolveEntry("/tmp/w", policy).kind).toBe("missing");
    expect(deleteTool.claim({ path: "/tmp", recursive: true }, { policy })).toMatchObject({ effect: "destructive" });
  });

  test("searches there by the same names", async () => {
    expect(textOf(await globTool.run({ pattern: "/tmp/o*" }, context))).toBe("/tmp/out");
    expect(textOf(await listTool.run({ path: "/tmp" }, context))).toContain("out");
    const found = textOf(await grepTool.run({ pattern: "needle", path: "/tmp", files_only: true }, context));
    expect(found).toContain("/tmp/out");
    expect(found).not.toContain("secret");
  });

  test("does not come across the host's when it searches from above", async () => {
    const listed = textOf(await listTool.run({ path: "/", depth: 1 }, context));
    expect(listed).toContain("etc/");
    expect(listed.split("\n")).not.toContain("tmp/");
  });

  test("is told why a file of the user's is not there", async () => {
    const { ok, parts } = await readTool.run({ path: join(others, "secret") }, context);
    expect(ok).toBe(false);
    expect(JSON.stringify(parts)).toContain("--allow-read");
  });

  test("may write there by commands as well", () => {
    const around = { ...policy, confined: false };
    expect(classifyCommand("ls > /tmp/list", around).outside).toBeUndefined();
    expect(classifyCommand("ls > /var/tmp/list", around).outside).toBe("/var/tmp/list");
    expect(classifyCommand("ls > /tmp/list", { ...around, privateTmp: false }).outside).toBe("/tmp/list");
  });
});

test("without one, /tmp is the host's", () => {
  const shared = { ...policy, privateTmp: false };
  expect(resolvePath(join(others, "secret"), shared)).toMatchObject({ real: join(others, "secret"), kind: "file" });
  expect(resolvePath(dirname(project), shared).kind).toBe("directory");
  expect(resolvePath("/tmp", shared).real).toBe("/tmp");
});
