import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../../lib/errors.ts";
import { keyFromCommand } from "../../lib/model/keycommand.ts";
import { failureOf } from "../support/failure.ts";
import { makePlace, type Place } from "../support/place.ts";
import { isAlive } from "../support/shell.ts";
import { until } from "../support/until.ts";

/** A program that notes its own pid and that of a child, and then waits for both. */
const waiting = ["sh", "-c", 'sleep 600 & echo $! $$ > "$HOME/pids.new"; mv "$HOME/pids.new" "$HOME/pids"; wait'];

function pidsIn(place: Place): number[] {
  return readFileSync(join(place.home, "pids"), "utf8").trim().split(" ").map(Number);
}

test("a program that does not finish in time is stopped with all that it started", async () => {
  await using place = makePlace();
  const error = await failureOf(
    keyFromCommand(waiting, { provider: "corp", writable: [], env: place.env, limitMs: 500 }),
  );
  expect(error.code).toBe("credentials");
  expect(error.message).toContain('api_key_command "sh" did not finish within 500ms and was stopped');
  expect(pidsIn(place).filter(isAlive)).toEqual([]);
});

test("a run that is stopped while a key is renewed stops the program too", async () => {
  await using place = makePlace();
  const program = join(place.home, "print-key");
  await Bun.write(
    program,
    `#!/bin/sh\nif [ -e "$HOME/asked" ]; then ${waiting[2]}; fi\ntouch "$HOME/asked"; echo key-1\n`,
  );
  const key = await keyFromCommand(["sh", program], { provider: "corp", writable: [], env: place.env });
  expect(key.value).toBe("key-1");

  const stop = new AbortController();
  const renewal = failureOf(key.renew?.(stop.signal) ?? Promise.resolve());
  await until(() => Bun.file(join(place.home, "pids")).exists());
  stop.abort(new KodaError("sigterm", "stopped"));
  expect((await renewal).code).toBe("sigterm");
  expect(pidsIn(place).filter(isAlive)).toEqual([]);
});
