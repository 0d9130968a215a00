import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exec } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

/** Calls and what the model is told of each. */
async function told(place: ReturnType<typeof makePlace>, calls: ReturnType<typeof call>[], flags: string[] = []) {
  await using server = await startModelServer([...calls.map((one) => [one]), say("Done.")]);
  const { events, end, stderr } = await exec(place, server, [...flags, "go"]);
  expect(end.status, stderr).toBe("done");
  return events.flatMap((event) => (event.type === "tool.end" ? [event.summary] : []));
}

test("commands and file tools mean the same files by the same names", async () => {
  await using place = makePlace({ "in.txt": "of the project\n" });
  const [made, read, , shown] = await told(place, [
    call("Bash", { command: "cat in.txt > /tmp/by-command && mkdir -p /tmp/d" }),
    call("Read", { path: "/tmp/by-command" }),
    call("Write", { path: "/tmp/d/by-tool", content: "of the tool\n" }),
    call("Bash", { command: "cat /tmp/d/by-tool" }),
  ]);
  // Without mounts a sandbox has no /tmp to give, and the host's is not the run's to write to, for tools neither.
  const isGiven = made?.includes("by-command") !== true;
  expect([read?.includes("of the project"), shown?.includes("of the tool")]).toEqual([isGiven, isGiven]);
});

test("what is hidden is hidden from commands and file tools, until a flag opens it", async () => {
  await using place = makePlace();
  // A home that lies in /tmp would be gone altogether.
  const home = join(place.project, "home");
  mkdirSync(join(home, ".ssh"), { recursive: true });
  writeFileSync(join(home, ".ssh/id"), "the key\n");
  place.env.HOME = home;
  const calls = [call("Bash", { command: "cat home/.ssh/id" }), call("Read", { path: "home/.ssh/id" })];
  expect((await told(place, calls)).join("\n")).not.toContain("the key");
  for (const summary of await told(place, calls, ["--allow-read", "home/.ssh"])) expect(summary).toContain("the key");
});
