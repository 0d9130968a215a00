import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "../../lib/fleet/work/child.ts";
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

test("a run that was killed does not blame what it said last", async () => {
  await using place = makePlace();
  const program = join(place.home, "program");
  writeFileSync(program, "#!/bin/sh\necho 'A a.txt +1 -0' >&2\nkill -9 $$\n", { mode: 0o755 });
  const run = { program: [program], args: [], env: place.env, prompt: "", pids: new Set<number>(), onUsage: () => {} };
  const { failure } = await runChild({ ...run, signal: new AbortController().signal });
  expect(failure).toBe("koda exec was killed by SIGKILL, perhaps for lack of memory");
});
