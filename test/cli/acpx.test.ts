import { expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { promptsOf } from "../support/chat.ts";
import { binary, using } from "../support/koda.ts";
import { call, hang, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { finished, runIn, spawnIn } from "../support/run.ts";

/** acpx, a client for the shell, with an owner of its sessions that runs beside it. */
const acpx = resolve("node_modules/acpx/dist/cli.js");

test("acpx asks for permission, cancels, and goes on in a new process of koda", async () => {
  await using place = makePlace();
  mkdirSync(join(place.project, ".git"));
  await using server = await startModelServer([
    call("Bash", { command: "touch allowed" }),
    say("one"),
    call("Bash", { command: "touch denied" }),
    say("two"),
    hang(),
    say("three"),
  ]);
  const agent = [binary, "acp", "--mode", "safe", ...using(server)].join(" ");
  const argv = (...args: string[]) => [process.execPath, acpx, "--cwd", place.project, "--agent", agent, ...args];
  const run = async (...args: string[]) => {
    const ran = await runIn(place, argv(...args));
    expect(ran.exit, ran.stderr).toBe(0);
    return ran.stdout;
  };
  const there = (name: string) => existsSync(join(place.project, name));

  await run("sessions", "new");
  await using _ = { [Symbol.asyncDispose]: async () => void (await run("sessions", "close")) };
  expect(await run("--approve-all", "first")).toContain("[done] end_turn");
  expect(await run("--deny-all", "second")).toContain("two");
  expect([there("allowed"), there("denied")]).toEqual([true, false]);

  const hanging = spawnIn(place, argv("third"));
  for (let count = 0; count < 5; count++) await server.nextRequest();
  await run("cancel");
  expect((await finished(hanging)).stdout).toContain("[done] cancelled");

  const { pid } = JSON.parse(await run("--format", "json", "status")) as { pid: number };
  expect(pid).toBeGreaterThan(0);
  process.kill(pid, "SIGKILL");
  expect(await run("fourth")).toContain("three");
  expect(promptsOf(server.requests.at(-1))).toEqual(["first", "second", "third", "fourth"]);
});
