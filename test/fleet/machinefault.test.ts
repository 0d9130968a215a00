import { expect, test } from "bun:test";
import { judgeEnd } from "../../lib/fleet/work/machinefault.ts";
import { binary } from "../support/koda.ts";
import { makePlace } from "../support/place.ts";

const unknown = 'Unknown provider "crop" in the model "crop/m"';

for (const [name, end, judged] of [
  ["a directory that another run has is waited for", { exit: 7, code: "busy" }, { exit: 9, kind: "wait" }],
  [
    "so is a database that another process has locked",
    { exit: 10, code: "store", message: "Cannot use it: another process has kept it locked for 10 s." },
    { exit: 9, kind: "wait" },
  ],
  [
    "a sandbox that works elsewhere is no fault of the machine",
    { exit: 7, code: "sandbox" },
    { exit: 7, kind: "exit" },
  ],
  ["credentials that are missing are", { exit: 4, code: "credentials" }, { exit: 4, kind: "fault" }],
  ["an unknown model of the machine's is", { exit: 2, code: "usage", message: unknown }, { exit: 2, kind: "fault" }],
  [
    "an unknown model of the task's is not",
    { exit: 2, code: "usage", message: unknown, flags: ["--model=crop/m"] },
    { exit: 2, kind: "exit" },
  ],
  [
    "nor is one of a trusted project's",
    { exit: 2, code: "usage", message: unknown, flags: ["--trust-project"] },
    { exit: 2, kind: "exit" },
  ],
] as const)
  test(name, async () => {
    await using place = makePlace();
    const { exit, code, message = "", flags = [] }: End = end;
    const machine = { program: [binary], env: place.env, state: place.home, flags };
    expect(await judgeEnd({ exit, error: { code, message } }, machine)).toEqual({ ...judged, code });
  });

type End = { exit: number; code: string; message?: string; flags?: readonly string[] };
