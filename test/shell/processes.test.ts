import { expect, test } from "bun:test";
import { marked, newFamily } from "../../lib/shell/processes.ts";
import { makePlace } from "../support/place.ts";
import { shellIn, watch } from "../support/shell.ts";

test.each(["", "x", "/", "0/", newFamily().slice(0, -1), newFamily().slice(1)])(
  "%j is too little to look for processes by",
  (prefix) => {
    expect(() => marked(prefix)).toThrow("is no mark of a command");
  },
);

test("processes are found by their mark wherever they went, and no others", async () => {
  await using place = makePlace();
  await using shell = shellIn(place);
  const running = watch(shell, 'echo "$KODA_CALL"; (setsid sh -c "echo \\$\\$; exec sleep 1000" &); exec sleep 1000');
  const [, mark = "", escaped] = await running.prints(/^(\S+\/)\n(\d+)\n/);
  const beside = watch(shell, "echo here; exec sleep 1000");
  await beside.prints(/here/);

  const pids = (prefix: string) => marked(prefix).map(({ pid }) => pid);
  expect(pids(mark)).toContain(running.pid);
  expect(pids(mark)).toContain(Number(escaped));
  expect(pids(mark)).not.toContain(beside.pid);
  expect(pids(mark.replace(/\d+\/$/, ""))).toContain(beside.pid);
  expect(pids(newFamily())).toEqual([]);

  await running.stop();
  expect(marked(mark)).toEqual([]);
});
