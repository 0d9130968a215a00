import { expect, test } from "bun:test";
import { killWorkers } from "../support/fleetchaos.ts";

/** `npm run bench fleet` does the same with 300 tasks, 6 workers and a kill every two seconds. */
test("each task is settled once however often workers are killed, and no process is left", async () => {
  const { problems, kills } = await killWorkers({ tasks: 20, workers: 3, killEveryMs: 500, leaseMs: 30_000 });
  expect(problems).toEqual([]);
  expect(kills).toBeGreaterThan(1);
}, 120_000);
