import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exec } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

test("Grep reads what commands may read, in every mode, and nothing of it may be written", async () => {
  await using place = makePlace({ "open.txt": "needle\n", "closed.txt": "needle\n" });
  mkdirSync(join(place.home, ".ssh"));
  writeFileSync(join(place.home, ".ssh/id"), "needle: the key\n");
  symlinkSync(join(place.home, ".ssh/id"), join(place.project, "link"));
  for (const mode of ["auto", "safe", "plan"]) {
    await using server = await startModelServer([[call("Grep", { pattern: "needle" })], say("Done.")]);
    const flags = ["--mode", mode, "--deny-read", "closed.txt", "--allow-tool", "Grep", "go"];
    const { events, end } = await exec(place, server, flags);
    expect(end.status).toBe("done");
    expect(events.find(({ type }) => type === "tool.end")).toMatchObject({ ok: true, summary: "open.txt\n1:needle" });
  }
});
