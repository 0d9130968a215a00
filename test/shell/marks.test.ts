import { expect, test } from "bun:test";
import { marked, newFamily } from "../../lib/shell/marks.ts";
import { makePlace } from "../support/place.ts";
import { shellIn, watch } from "../support/shell.ts";

test.each([0n, 1n, 200_000n, (1n << 62n) - 1n, 1n << 63n, (1n << 64n) - 1n])(
  "%p may be another program's limit, and is nothing to look for processes by",
  (number) => {
    expect(() => marked(number)).toThrow("is not the mark of a command");
  },
);

test("processes are found by their mark wherever they went, and no others", async () => {
  await using place = makePlace();
  await using shell = shellIn(place);
  const running = watch(shell, 'echo "$KODA_CALL"; (setsid sh -c "echo \\$\\$; exec sleep 1000" &); exec sleep 1000');
  const [, printed = "", escaped] = await running.prints(/^(\d+)\n(\d+)\n/);
  const mark = BigInt(printed);
  const beside = watch(shell, "echo here; exec sleep 1000");
  await beside.prints(/here/);

  const pids = (mark: bigint) => marked(mark).map(({ pid }) => pid);
  expect(pids(mark)).toContain(running.pid);
  expect(pids(mark)).toContain(Number(escaped));
  expect(pids(mark)).not.toContain(beside.pid);
  expect(pids((mark >> 24n) << 24n)).toContain(beside.pid);
  expect(pids(newFamily())).toEqual([]);

  await running.stop();
  expect(marked(mark)).toEqual([]);
});
