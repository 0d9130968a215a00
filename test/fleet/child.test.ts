import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "../../lib/fleet/work/child.ts";
import { endOfFailure } from "../../lib/fleet/work/failure.ts";
import { untilGone } from "../support/fleetplace.ts";
import { makePlace } from "../support/place.ts";

test("a run whose events cannot be read is not left to itself", async () => {
  await using place = makePlace();
  const program = join(place.home, "program");
  writeFileSync(program, `#!/bin/sh\necho '{"v":1,"seq":1,"at":"","type":"usage"}'\nexec sleep 600\n`, { mode: 0o755 });
  const run = { program: [program], args: [], env: place.env, prompt: "", pids: new Set<number>(), onUsage: () => {} };
  await expect(runChild({ ...run, signal: new AbortController().signal })).rejects.toThrow("invalid_type");
  await untilGone(place);
});

test.each([
  ["/nonexistent/koda", [], { exit: 7, kind: "fault" }],
  ["true", ["x".repeat(4 * 1024 * 1024)], { exit: 2, kind: "exit" }],
])(
  "a run that cannot be started is the fault of the machine, or of a command line that is too long",
  async (name, args, end) => {
    const run = { program: [name], args, env: {}, prompt: "", pids: new Set<number>(), onUsage: () => {} };
    const failure = await runChild({ ...run, signal: new AbortController().signal }).catch((error: unknown) => error);
    expect(endOfFailure(failure)).toMatchObject(end);
  },
);

test("a machine without another process or file is at fault, whatever was to be done", () => {
  const error = Object.assign(new Error("EAGAIN: resource temporarily unavailable, posix_spawn"), { code: "EAGAIN" });
  expect(endOfFailure(error)).toMatchObject({ exit: 7, kind: "fault", error: { code: "machine" } });
});

test("a run that was killed does not blame what it said last", async () => {
  await using place = makePlace();
  const program = join(place.home, "program");
  writeFileSync(program, "#!/bin/sh\necho 'A a.txt +1 -0' >&2\nkill -9 $$\n", { mode: 0o755 });
  const run = { program: [program], args: [], env: place.env, prompt: "", pids: new Set<number>(), onUsage: () => {} };
  const { failure } = await runChild({ ...run, signal: new AbortController().signal });
  expect(failure).toBe("koda exec was killed by SIGKILL, perhaps for lack of memory");
});
