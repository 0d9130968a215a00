import { expect, test } from "bun:test";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../../lib/errors.ts";
import { openSink } from "../../lib/sink/open.ts";
import { OutputStream } from "../../lib/sink/output.ts";
import { makePlace } from "../support/place.ts";
import { delta, finished, plainOptions, started } from "../support/sink-run.ts";

test("a stdout that takes no more is told of once, and people still read how the run ends", async () => {
  await using place = makePlace();
  const stderr = join(place.home, "stderr");
  const stdout = new OutputStream(openSync("/dev/full", "w"), "stdout");
  const sink = openSink({
    mode: "jsonl",
    stdout,
    stderr: new OutputStream(openSync(stderr, "a"), "stderr"),
    ...plainOptions,
  });
  const refusals: unknown[] = [];
  for (const event of [started, delta("a"), delta("b"), finished("ab")]) {
    await sink.write(event).catch((error: unknown) => refusals.push(error));
    await stdout.flush().catch(() => "told by the sink");
  }
  expect(refusals).toHaveLength(1);
  expect(refusals[0]).toMatchObject({ code: "output", message: expect.stringContaining("ENOSPC") });
  await expect(sink.flush()).rejects.toBeInstanceOf(KodaError);
  expect(readFileSync(stderr, "utf8")).toContain("✓ done");
});

test("a stderr that takes no more stops nothing", async () => {
  await using place = makePlace();
  const stdout = join(place.home, "stdout");
  const sink = openSink({
    mode: "text",
    stdout: new OutputStream(openSync(stdout, "a"), "stdout"),
    stderr: new OutputStream(openSync("/dev/full", "w"), "stderr"),
    ...plainOptions,
    verbose: true,
  });
  for (const event of [started, delta("Good."), finished("Good.")]) await sink.write(event);
  await sink.flush();
  expect(readFileSync(stdout, "utf8")).toBe("Good.\n");
});
