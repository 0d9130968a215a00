import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exec, type Line } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

const broken = "---\nname: broken\ndescription: d\nmod: plan\n---\nDo it.\n";
const noticesOf = (events: readonly Line[]) =>
  events.flatMap((event) => (event.type === "notice" && event.code === "agent" ? [event.message] : []));

test("a broken file of an agent stops no run: a notice names it and the mistake", async () => {
  await using place = makePlace({ ".koda/agents/broken.md": broken });
  await using server = await startModelServer([say("Done."), say("Done."), say("Done.")]);
  const directory = join(place.home, ".config/koda/agents");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "mine.md"), "Do it.");
  const mine = `The agent "${join(directory, "mine.md")}" is not loaded: "name" is missing, expected "mine" like its file`;

  const untrusted = await exec(place, server, ["hello"]);
  expect(noticesOf(untrusted.events)).toEqual([mine]);
  expect(untrusted.events[0]).toMatchObject({ type: "session.start", skipped: [".koda/agents/broken.md"] });

  const trusted = await exec(place, server, ["--trust-project", "hello"]);
  const reason = 'unknown key "mod" in its front matter (did you mean "mode"?)';
  expect(noticesOf(trusted.events)).toEqual([`The agent ".koda/agents/broken.md" is not loaded: ${reason}`, mine]);
  expect(trusted.events[0]).toMatchObject({ type: "session.start", skipped: [] });

  const bare = await exec(place, server, ["--bare", "hello"]);
  expect([noticesOf(bare.events), bare.exit]).toEqual([[], 0]);
});
