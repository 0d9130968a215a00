import { expect, test } from "bun:test";
import { judgeEnd } from "../../lib/fleet/work/machinefault.ts";
import { binary } from "../support/koda.ts";
import { makePlace } from "../support/place.ts";

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
] as const)
  test(name, async () => {
    await using place = makePlace();
    const machine = { program: [binary], env: place.env, state: place.home };
    const error = { message: "", ...end };
    expect(await judgeEnd({ ...end, error }, machine)).toEqual({ ...judged, code: end.code });
  });
