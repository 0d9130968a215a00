import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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

test("a hidden file is no source of instructions or ignore rules, whatever leads to it", async () => {
  const secret = "needle-*\n!needle-x\n";
  await using place = makePlace({ "hidden.txt": secret, "needle-1": "", "plain-1": "" });
  symlinkSync("hidden.txt", join(place.project, "AGENTS.md"));
  symlinkSync("hidden.txt", join(place.project, ".gitignore"));
  const listed = async (...flags: string[]) => {
    await using server = await startModelServer([call("Glob", { pattern: "*-1" }), say("Done.")]);
    const { events, stderr } = await exec(place, server, [...flags, "go"]);
    const found = events.flatMap((event) => (event.type === "tool.end" ? [event.summary] : [])).join("");
    return { found, sent: server.requests[0]?.raw ?? "", stderr };
  };
  const closed = await listed("--deny-read", "hidden.txt");
  expect(closed.sent).not.toContain("needle-*");
  expect(closed.stderr).toContain('AGENTS.md" are not read: it is hidden from the run');
  expect(closed.found).toMatch(/needle-1[^]*plain-1/);
  // The control: instructions may be a link within the project. git itself reads no ignore rules through one.
  const open = await listed();
  expect(open.sent).toContain("needle-*");
  expect(open.found).toMatch(/needle-1[^]*plain-1/);
});

test("a project in a hidden directory, which --allow-read opens, has its instructions, skills and changes", async () => {
  const skill = "---\nname: greet\ndescription: Says hello\n---\nHello";
  await using place = makePlace({ "AGENTS.md": "Be brief.", ".koda/skills/greet/SKILL.md": skill, "a.txt": "a\n" });
  await using server = await startModelServer([call("Write", { path: "b.txt", content: "b\n" }), say("Done.")]);
  const flags = ["--trust-project", "--deny-read", dirname(place.project), "--allow-read", place.project];
  const { events, end } = await exec(place, server, [...flags, "go"]);
  expect(server.requests[0]?.raw).toContain("Be brief.");
  expect(server.requests[0]?.raw).toContain("Says hello");
  expect(end.files_changed).toBe(1);
  expect(events.find(({ type }) => type === "diff")).toMatchObject({ files: [{ path: "b.txt" }] });
});
