import { expect, test } from "bun:test";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openSink } from "../../lib/sink/open.ts";
import { Output } from "../../lib/sink/output.ts";
import { makePlace } from "../support/place.ts";
import { call, ended, finished, printed } from "../support/sink-run.ts";
import { until } from "../support/until.ts";

test("a log that would be silent says what the run waits for, again and again", async () => {
  await using place = makePlace();
  const path = join(place.home, "stderr");
  const sink = openSink({
    mode: "text",
    stdout: new Output(openSync("/dev/null", "w"), "stdout"),
    stderr: new Output(openSync(path, "a"), "stderr"),
    stdoutIsTerminal: false,
    stderrIsTerminal: false,
    stream: false,
    quiet: false,
    verbose: false,
    color: false,
    columns: () => 80,
    heartbeatMs: 20,
  });
  const log = () => readFileSync(path, "utf8");
  const says = (pattern: RegExp) => until(() => pattern.test(log()), `${pattern} in ${log()}`);

  await sink.write({ type: "turn.start", turn: 1 });
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
