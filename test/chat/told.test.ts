import { expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { cpSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../lib/engine/event.ts";
import { chatHere, Lines } from "../support/chatwalk.ts";
import { say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

const input = JSON.stringify({ op: "input", id: "a", text: "go" });

test("a reply that was stored and may not have been read is told by the next process, and by no later one", async () => {
  await using place = makePlace();
  await using copy = makePlace();
  await using server = await startModelServer([say("done")]);
  const problems: string[] = [];
  const lines = new Lines();
  let id = "";
  lines.push(input);
  for await (const event of chatHere({ place, server, lines, problems })) {
    if (event.type === "session.start") id = event.session;
    if (event.type !== "reply") continue;
    killedAs(place, copy);
    lines.end();
  }
  const resumed = async (where: Place) => {
    const none = new Lines();
    none.end();
    const session = { kind: "named" as const, id };
    return replies(await Array.fromAsync(chatHere({ place: where, server, session, lines: none, problems })));
  };
  expect(await resumed(copy)).toMatchObject([{ submission: "a", status: "done", result: { text: "done" } }]);
  expect(await resumed(copy)).toEqual([]);
  expect(await resumed(place)).toEqual([]);
  expect([problems, server.requests.length]).toEqual([[], 1]);
});

test("a kill in a clear, before the new session was told, loses no reply", async () => {
  await using place = makePlace();
  await using copy = makePlace();
  await using server = await startModelServer([say("one"), say("two"), say("late")]);
  const problems: string[] = [];
  const lines = new Lines();
  const sessions: string[] = [];
  lines.push(input);
  for await (const event of chatHere({ place, server, lines, problems })) {
    if (event.type === "reply" && event.submission === "a") {
      for (const more of [
        { op: "clear", id: "c" },
        { op: "input", id: "b", text: "then" },
      ])
        lines.push(JSON.stringify(more));
      lines.end();
    }
    if (event.type !== "session.start") continue;
    if (sessions.push(event.session) === 2) killedAs(place, copy);
  }
  const [old = "", next = ""] = sessions;
  const resumed = async (session: string) => {
    const none = new Lines();
    none.end();
    const choice = { kind: "named" as const, id: session };
    return replies(await Array.fromAsync(chatHere({ place: copy, server, session: choice, lines: none, problems })));
  };
  const cleared = { submission: "c", status: "done", result: { session: next } };
  expect(await resumed(old)).toMatchObject([cleared]);
  expect(await resumed(next)).toMatchObject([cleared, { submission: "b", status: "done", result: { text: "late" } }]);
  expect(problems).toEqual([]);
});

/** The store as a process leaves it that is killed now, before anybody has read the event. */
function killedAs(from: Place, to: Place): void {
  const data = ".local/share/koda";
  cpSync(join(from.home, data), join(to.home, data), { recursive: true });
  for (const name of new Bun.Glob("**/*.db").scanSync({ cwd: join(to.home, data), absolute: true })) {
    using database = new Database(name);
    database.run("DELETE FROM lease");
  }
}

function replies(events: readonly Event[]) {
  return events.filter((event) => event.type === "reply");
}
