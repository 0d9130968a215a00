import { expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../lib/engine/event.ts";
import { KodaError } from "../../lib/errors.ts";
import { findGit } from "../../lib/git/program.ts";
import { reports } from "../../lib/review/report.ts";
import { reviewRequest } from "../../lib/review/review.ts";
import { openSubject } from "../../lib/review/subject.ts";
import { agentEvents, defineAgent } from "../support/agents.ts";
import type { Line } from "../support/koda.ts";
import { call, hang, say } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { openWith } from "../support/opened.ts";
import { finding, found, makeRepository } from "../support/review.ts";

/** A conversation in mode auto in a project with a change, and a way to review it. */
async function openReview(server: ModelServer) {
  const place = makeRepository();
  place.write("a.txt", "changed\n");
  // The user's own reviewer says nothing of a mode.
  defineAgent(place, "review", {});
  const { host, conversation } = await openWith(place, server);
  const scratch = join(place.project, "../scratch");
  mkdirSync(scratch);
  const findIt = () => findGit(place.env.PATH, [place.project]);
  const target = { kind: "uncommitted" } as const;
  const subject = await openSubject(target, { root: place.project, findGit: findIt, scratch, own: [] }, host.signal);
  const report = (review: Parameters<typeof reports.text>[0]) =>
    reports.text(review, { prefix: "", version: "0", columns: 80 });
  const request = reviewRequest({ subject, agent: "review", agents: conversation.agents, report });
  return {
    place,
    conversation,
    review: (signal: AbortSignal) => conversation.run(request, signal),
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

const prompt = [{ type: "text" as const, text: "go on" }];
const never = new AbortController().signal;

test("a review is a turn between others: it may only read, and the next turn knows what it found", async () => {
  await using server = await startModelServer([
    say("First."),
    call("Write", { path: "made.txt", content: "x" }),
    found(finding("a.txt", { title: "A defect" })),
    say("Last."),
  ]);
  await using scene = await openReview(server);
  const { conversation, review, place } = scene;
  await Array.fromAsync(conversation.run({ prompt }, never));
  const events = (await Array.fromAsync(review(never))) as (Event & Line)[];
  expect(existsSync(join(place.project, "made.txt"))).toBe(false);
  const denied = agentEvents(events).find(({ type }) => type === "tool.end");
  expect(denied).toMatchObject({ tool: "Write", ok: false, denied: "mode plan: write" });
  expect([events[0], events.at(-1)]).toMatchObject([
    { type: "turn.start", turn: 2 },
    { type: "turn.end", turn: 2, reason: "complete" },
  ]);
  await Array.fromAsync(conversation.run({ prompt }, never));
  const told = server.requests.at(-1)?.lines.map(({ role, text }) => `${role}: ${text}`) ?? [];
  expect(told).toContainEqual(expect.stringMatching(/^assistant: .*"A defect"/));
  expect(told.at(-1)).toBe("user: go on");
});

test("an interrupt ends only the review, and the next turn works", async () => {
  await using server = await startModelServer([hang(), say("Still here.")]);
  await using scene = await openReview(server);
  const { conversation, review } = scene;
  const interrupt = new AbortController();
  void server.nextRequest().then(() => interrupt.abort(new KodaError("sigint", "interrupted")));
  const events = await Array.fromAsync(review(interrupt.signal));
  expect(events.at(-1)).toMatchObject({ type: "turn.end", reason: "cancelled" });
  expect(events).toContainEqual(
    expect.objectContaining({ message: "The review ended early, so there are no findings" }),
  );
  const next = await Array.fromAsync(conversation.run({ prompt }, never));
  expect(next.at(-1)).toMatchObject({ type: "turn.end", reason: "complete" });
});
