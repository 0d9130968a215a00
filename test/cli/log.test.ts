import { expect, test } from "bun:test";
import { join } from "node:path";
import { koda, start, using } from "../support/koda.ts";
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

test("a log has a hundred thousand lines in forty, or all of them with -v", async () => {
  await using place = makePlace();
  const script = [call("Bash", { command: "seq 1 100000" }), say("Counted.")];
  const run = async (...flags: string[]) => {
    await using server = await startModelServer(script);
    return (await koda(place, ["exec", ...flags, ...using(server), "count"])).stderr;
  };
  const log = await run();
  expect(log).toContain("    30\n    … 99,960 more lines (-v shows all)\n    99991\n");
  expect(log.length).toBeLessThan(1_500);
  expect((await run("-v")).length).toBeGreaterThan(688_895);
});
