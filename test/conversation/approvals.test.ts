import { expect, test } from "bun:test";
import { Approvals } from "../../lib/conversation/approvals.ts";
import { PendingApprovals } from "../../lib/conversation/pendingapprovals.ts";
import type { Event, EventOf } from "../../lib/engine/event.ts";

const asked = { rule: "mode safe: write", cwd: "/project", home: "/home/user", saved: [] };
const claim = { effect: "write", writes: "unknown" } as const;
const writing = (id: string) => ({ id, tool: "Write", input: { path: id }, claim });

function open() {
  const requests: EventOf<"approval.request">[] = [];
  let wake = () => {};
  const post = (event: Event) => {
    if (event.type === "approval.request") requests.push(event);
    wake();
  };
  const pending = new PendingApprovals({ post, waits: () => ({ [Symbol.dispose]() {} }), abort: () => {} });
  const approvals = new Approvals({ post, pending, remember: async () => {} });
  return {
    approvals,
    pending,
    /** The ids of so many questions. */
    async ids(count: number): Promise<string[]> {
      while (requests.length < count) await new Promise<void>((resolve) => (wake = resolve));
      return requests.map(({ id }) => id);
    },
  };
}

test("each question has an id of its own, whatever ids the model has chosen", async () => {
  const { approvals, pending, ids } = open();
  const verdicts = ["a", "a#2", "a", "a"].map((id) => approvals.ask(writing(id), asked));
  const told = await ids(4);
  expect(new Set(told).size).toBe(4);
  for (const id of told) expect(pending.decide(id, "once")).toBeUndefined();
  expect(await Promise.all(verdicts)).toEqual(told.map(() => ({ allow: true })));
});

test("an approval that comes too late is not one for a later call with the same id", async () => {
  const { approvals, pending, ids } = open();
  const first = approvals.ask(writing("call_0"), asked);
  await ids(1);
  pending.denyAll("the turn was interrupted");
  expect(await first).toMatchObject({ allow: false });
  const later = approvals.ask(writing("call_0"), asked);
  const [, id = ""] = await ids(2);
  expect(pending.decide("call_0", "once")).toBe('No call "call_0" waits for approval');
  expect(pending.decide(id, "once")).toBeUndefined();
  expect(await later).toEqual({ allow: true });
});

test("a turn that ends while the preview of a call is made asks nothing", async () => {
  const { approvals, pending, ids } = open();
  const preview = Promise.withResolvers<string>();
  const verdict = approvals.ask({ ...writing("a"), preview: () => preview.promise }, asked);
  pending.denyAll("the turn was interrupted");
  preview.resolve("+a");
  expect(await Promise.race([verdict, ids(1)])).toMatchObject({ allow: false });
});
