/**
 * `bun test/support/record-repair.ts` after a build: records the cassette that test/cli/cassette.test.ts replays, a
 * small repair with reads, an edit and commands. It has to be recorded anew whenever what koda sends to a model changes.
 */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { koda, using } from "./koda.ts";
import { call, say, think } from "./model-reply.ts";
import { startModelServer } from "./model-server.ts";
import { makePlace } from "./place.ts";

export const repairTape = "test/recordings/repair.jsonl";
export const repairPrompt = "The test fails. Mend the script.";
export const repairProject = {
  "add.sh": "echo $(($1 - $2))\n",
  "test.sh": 'test "$(sh add.sh 2 3)" = 5 && echo passed || { echo failed >&2; exit 1; }\n',
};

if (import.meta.main) {
  await using place = makePlace(repairProject);
  await using server = await startModelServer([
    [think("First I look at what there is."), call("Read", { path: "add.sh" }), call("Read", { path: "test.sh" })],
    call("Bash", { command: "sh test.sh" }),
    [say("It subtracts."), call("Edit", { path: "add.sh", edits: [{ old: "-", new: "+" }] })],
    call("Bash", { command: "sh test.sh" }),
    say("add.sh subtracted; it adds now, and the test passes."),
  ]);
  const { exit, stderr } = await koda(place, ["exec", "--record", "run.jsonl", ...using(server), repairPrompt]);
  if (exit !== 0) throw new Error(`The run to be recorded failed: ${stderr}`);
  copyFileSync(join(place.project, "run.jsonl"), repairTape);
}
