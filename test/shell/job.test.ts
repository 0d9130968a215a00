import { expect, test } from "bun:test";
import { Job } from "../../lib/shell/job.ts";
import { memberOf, newFamily } from "../../lib/shell/marks.ts";
import { sendSignal } from "../../lib/system/kill.ts";
import { childrenOf } from "../../lib/system/procstat.ts";
import { until } from "../support/until.ts";

/** As in a namespace: below the leader is the process that collects the dead, and below that what the command left. */
const leader = (left: string) => ["sh", "-c", `sh -c '${left} exec sleep 1000' & wait`];

test.each([
  { left: "", leftBehind: false },
  { left: "sleep 1000 &", leftBehind: true },
])("what a command left behind is known before it is reported: $leftBehind", async ({ left, leftBehind }) => {
  const process = Bun.spawn(leader(left), { detached: true, stdio: ["ignore", "ignore", "ignore"] });
  const collector = () => childrenOf(process.pid)?.at(0) ?? 0;
  await until(() => childrenOf(collector())?.length === (leftBehind ? 1 : 0));
  // On a busy machine the collector has its turn late.
  const report = { status: Promise.resolve({ exitCode: 0 }), gone: new Promise<void>(() => {}) };
  const job = new Job({ process, report, drains: [], mark: memberOf(newFamily(), 1) }, {});
  expect(await job.ended).toEqual({ exitCode: 0, leftBehind });
  await job.stop();
  sendSignal(-process.pid, "SIGKILL");
});
