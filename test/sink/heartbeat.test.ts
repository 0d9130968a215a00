import { expect, test } from "bun:test";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../lib/engine/event.ts";
import { openSink } from "../../lib/sink/open.ts";
import { OutputStream } from "../../lib/sink/output.ts";
import type { SinkOptions } from "../../lib/sink/sink.ts";
import { makePlace, type Place } from "../support/place.ts";
import { call, delta, done, ended, finished, plainOptions, printed } from "../support/sink-run.ts";
import { until } from "../support/until.ts";

/** A sink whose stderr is a file. */
function openLog(place: Place, name: string, options: Partial<SinkOptions> = {}) {
  const path = join(place.home, name);
  const sink = openSink({
    mode: "text",
    stdout: new OutputStream(openSync(options.isOneStream ? path : "/dev/null", "a"), "stdout"),
    stderr: new OutputStream(openSync(path, "a"), "stderr"),
    ...plainOptions,
    heartbeatMs: 20,
    ...options,
  });
  return { sink, log: () => readFileSync(path, "utf8") };
}

/** Settles when another log, opened now, has said three times that its run goes on. */
async function threeBeats(place: Place): Promise<void> {
  const { sink, log } = openLog(place, crypto.randomUUID());
  await sink.write(turn);
  await until(() => /( {2}still thinking.*\n){3}/.test(log()), "three beats");
  await sink.flush();
}

const turn: Event = { type: "turn.start", turn: 1 };

test("a log that would be silent says what the run waits for, again and again", async () => {
  await using place = makePlace();
  const { sink, log } = openLog(place, "stderr");
  const says = (pattern: RegExp) => until(() => pattern.test(log()), `${pattern} in ${log()}`);

  await sink.write(turn);
  await says(/^ {2}still thinking \(\d+ ms\)\n/);
  await sink.write(call("a", "Bash", { command: "make" }));
  await says(/● Bash make\n( {2}still running Bash make \(\d+ ms\)\n){2}/);
  await sink.write(call("b", "Bash", { command: "make docs" }));
  await says(/still running Bash make docs and 1 more \(/);
  await sink.write(printed("b", "half a line"));
  await sink.write(ended("b", "Bash"));
  // The time of a call goes on, whatever ended beside it.
  const times = [...log().matchAll(/running Bash make \((\d+) ms\)/g)].map(([, ms]) => Number(ms));
  await says(/half a line\n[^]*still running Bash make \(/);
  const later = /half a line\n[^]*still running Bash make \((\d+) ms\)/.exec(log())?.[1];
  expect(Number(later)).toBeGreaterThan(times.at(-1) ?? Infinity);
  await sink.write(ended("a", "Bash"));
  await sink.write(finished(""));
  await sink.flush();
  expect(log()).toMatch(/ {2}to continue: .*\n$/);
});

test("a sink that was flushed without an end says nothing more", async () => {
  await using place = makePlace();
  const { sink, log } = openLog(place, "stderr");
  await sink.write(turn);
  await until(() => log().includes("still thinking"), "a beat");
  await sink.flush();
  const said = log();
  await threeBeats(place);
  expect(log()).toBe(said);
});

test("the answer is never cut in the log that it shares", async () => {
  await using place = makePlace();
  const { sink, log } = openLog(place, "log", { stream: true, isOneStream: true });
  await sink.write(turn);
  await sink.write(delta("The answer streams "));
  await threeBeats(place);
  await sink.write(delta("on word\n"));
  await until(() => log().includes("word\n  still thinking ("), `a beat in ${log()}`);
  await sink.write(done("The answer streams on word\n"));
  await sink.write(finished("The answer streams on word\n"));
  await sink.flush();
  expect(log()).toContain("The answer streams on word\n");
});

test("output that is in the middle of a line goes on below the beat", async () => {
  await using place = makePlace();
  const { sink, log } = openLog(place, "stderr", { verbose: true });
  await sink.write({ type: "thinking.delta", text: "First this" });
  await sink.write(turn);
  await until(() => log().includes("First this\n  still thinking ("), `a beat in ${log()}`);
  await sink.write({ type: "thinking.delta", text: "then that" });
  await sink.write(finished(""));
  await sink.flush();
  expect(log()).toMatch(/ms\)\n {2}then that\n.*done/);
});
