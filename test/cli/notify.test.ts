import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openChat } from "../support/chat.ts";
import { exec } from "../support/koda.ts";
import { hang, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

/** Adds what it reads to a file in the user's home, where no command of the model's could. */
const keep = "cat >> told; echo >> told";
const toldIn = ({ home }: Place) =>
  readFileSync(join(home, "told"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

test("the command of --notify is told of each turn that ends", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("All done.")]);
  const { end } = await exec(place, server, ["--notify", keep, "go"]);
  expect(end.status).toBe("done");
  expect(toldIn(place)).toEqual([
    {
      type: "turn.end",
      turn: 1,
      reason: "complete",
      session: end.session,
      cwd: place.project,
      last_message: "All done.",
    },
  ]);
});

test("a run that was stopped tells it too", async () => {
  await using place = makePlace();
  await using server = await startModelServer([hang()]);
  await exec(place, server, ["--notify", keep, "--timeout", "500ms", "go"]);
  expect(toldIn(place)).toMatchObject([{ reason: "limit", error: { code: "timeout" }, last_message: "" }]);
});

test("in a chat it is told of every turn, while the next one runs", async () => {
  const place = makePlace();
  await using chat = await openChat([say("1"), say("2")], { place, args: ["--notify", keep] });
  await chat.ask({ op: "input", id: "a", text: "a" });
  await chat.ask({ op: "input", id: "b", text: "b" });
  await chat.finish();
  expect(toldIn(place)).toMatchObject([
    { submission: "a", last_message: "1" },
    { submission: "b", last_message: "2" },
  ]);
});

test("a command that fails is a warning, and changes nothing about the end", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  const { exit, stderr } = await exec(place, server, ["--notify", "echo no bell >&2; exit 3", "go"]);
  expect([exit, stderr]).toEqual([0, expect.stringContaining("--notify: the command exited with 3: no bell")]);
});

test("it does not run a program of the project", async () => {
  await using place = makePlace();
  place.write("bin/ring", "#!/bin/sh\ntouch $HOME/rung\n");
  await using server = await startModelServer([say("Done.")]);
  const env = { PATH: `${join(place.project, "bin")}:${place.env.PATH}` };
  const { stderr } = await exec(place, server, ["--notify", "ring", "go"], { env });
  expect(stderr).toContain("--notify: the command exited with 127");
  expect(existsSync(join(place.home, "rung"))).toBe(false);
});
