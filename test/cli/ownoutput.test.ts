import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { binary, type Line, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";

/** Runs a shell line in which `koda` is the binary with all it needs; its events are in `out.jsonl` afterwards. */
async function changedBy(line: string, command = "echo made > made.txt"): Promise<string[]> {
  await using place = makePlace({ "answer.md": "Old.\n" });
  await using server = await startModelServer([call("Bash", { command }), say("Done.")]);
  const script = `koda() { "${binary}" exec --json ${using(server).join(" ")} "$@"; }\n${line}`;
  const { stdout, stderr } = await runIn(place, ["sh", "-c", script]);
  const written = stdout === "" ? readFileSync(join(place.project, "out.jsonl"), "utf8") : stdout;
  const events = written
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text) as Line);
  const diff = events.find((event) => event.type === "diff");
  const end = events.at(-1);
  expect(end?.type === "end" && [end.exit, end.files_changed], stderr).toEqual([0, diff?.files.length ?? 0]);
  return diff?.files.map(({ path, kind }) => `${kind} ${path}`) ?? [];
}

const rows: readonly [name: string, line: string][] = [
  ["files for stdout and stderr", "koda hi > out.jsonl 2> koda.log"],
  ["one file for both", "koda hi > out.jsonl 2>&1; grep '^{' out.jsonl > ../events; mv ../events out.jsonl"],
  ["a file that is written on to", "echo before > koda.log; koda hi > out.jsonl 2>> koda.log"],
  ["a hard link to one of them", "touch out.jsonl; ln out.jsonl twin; koda hi > out.jsonl"],
  ["tee", "koda hi 2>&1 >out.jsonl | tee log.txt >&2"],
  ["tee further down", "koda hi | cat | tee log.txt copy.txt | cat"],
  ["a program with its output in a file", "koda hi | cat > out.jsonl"],
  ["a tape", "koda --record run.tape hi > out.jsonl"],
];
for (const [name, line] of rows)
  test(`what koda writes is not the model's change: ${name}`, async () => {
    expect(await changedBy(line)).toEqual(["add made.txt"]);
  });

test("the file of the answer is koda's, whatever a command wrote there before", async () => {
  const command = "echo mine > answer.md; echo made > made.txt";
  expect(await changedBy("koda -o answer.md hi > out.jsonl", command)).toEqual(["add made.txt"]);
});

test("a run that changes nothing but its own output has no diff", async () => {
  expect(await changedBy("koda hi > out.jsonl 2> koda.log", "touch made.txt; rm made.txt")).toEqual([]);
});

test("a log that the model replaces or deletes is its change", async () => {
  expect(await changedBy("koda hi > out.jsonl 2> koda.log", "rm koda.log; echo mine > koda.log")).toEqual([
    "update koda.log",
  ]);
  expect(await changedBy("koda hi > out.jsonl 2> koda.log", "rm koda.log")).toEqual(["delete koda.log"]);
});

test.each([
  ["ln -f out.jsonl build.sh", "koda hi > out.jsonl"],
  ["ln -f log.txt build.sh", "koda hi | tee log.txt > out.jsonl"],
  ["ln -f run.tape build.sh", "koda --record run.tape hi > out.jsonl"],
])("a file that a command puts in place of another is its change, even koda's own: %s", async (command, line) => {
  expect(await changedBy(line, command)).toEqual(["add build.sh"]);
});
