import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exec } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

test("no rules make a search, or the look for changes, take for ever", async () => {
  const hard = `${"a/**/".repeat(20)}b\n${"**/a/".repeat(40)}b\n${"*a".repeat(40)}b\n`;
  await using place = makePlace({ ".gitignore": hard, [`${"a/".repeat(40)}file`]: "needle\n", ["a".repeat(200)]: "" });
  await using server = await startModelServer([
    [call("Glob", { pattern: `${"a/**/".repeat(20)}b` })],
    [call("List", { depth: 50 })],
    [call("Glob", { pattern: "file" })],
    [call("Grep", { pattern: "needle", glob: `${"**/a/".repeat(20)}file` })],
    [call("Bash", { command: "echo new > made" })],
    say("Done."),
  ]);
  const { events, end } = await exec(place, server, ["--timeout", "20s", "go"]);
  expect(end.status).toBe("done");
  const told = events.flatMap((event) => (event.type === "tool.end" ? [event.summary] : []));
  for (const summary of told.slice(2, 4)) expect(summary).toContain("a/a/a/file");
  expect(events.find(({ type }) => type === "diff")).toMatchObject({ files: [{ path: "made" }] });
});

test("Grep reads what commands may read, in every mode, and nothing of it may be written", async () => {
  await using place = makePlace({ "open.txt": "needle\n", "closed.txt": "needle\n" });
  mkdirSync(join(place.home, ".ssh"));
  writeFileSync(join(place.home, ".ssh/id"), "needle: the key\n");
  symlinkSync(join(place.home, ".ssh/id"), join(place.project, "link"));
  for (const mode of ["auto", "safe", "plan"]) {
    await using server = await startModelServer([[call("Grep", { pattern: "needle" })], say("Done.")]);
    const flags = ["--mode", mode, "--deny-read", "closed.txt", "--allow-tool", "Grep", "go"];
    const { events, end } = await exec(place, server, flags);
    expect(end.status).toBe("done");
    expect(events.find(({ type }) => type === "tool.end")).toMatchObject({ ok: true, summary: "open.txt\n1:needle" });
  }
});
