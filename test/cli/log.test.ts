import { expect, test } from "bun:test";
import { join } from "node:path";
import { start, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

test("a log has the line of a command while it runs, although it only reads and prints nothing", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "cat go" }), say("It went.")]);
  const go = join(place.project, "go");
  expect(Bun.spawnSync(["mkfifo", go]).exitCode).toBe(0);
  const child = start(place, ["exec", ...using(server), "go"]);
  const decoder = new TextDecoder();
  let log = "";
  for await (const bytes of child.stderr) {
    log += decoder.decode(bytes, { stream: true });
    // Opening it waits for the command, which waits for what is written.
    if (log.endsWith("● Bash cat go\n")) await Bun.spawn(["sh", "-c", 'echo gone > "$1"', "sh", go]).exited;
  }
  expect(log).toContain("● Bash cat go\n    gone\n  ✓ ");
  expect([await child.exited, await child.stdout.text()]).toEqual([0, "It went.\n"]);
});
