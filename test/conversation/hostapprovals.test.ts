import { expect, test } from "bun:test";
import { HostApprovals } from "../../lib/conversation/hostapprovals.ts";
import { PendingApprovals } from "../../lib/conversation/pendingapprovals.ts";
import { readAuthority } from "../../lib/egress/rules/authority.ts";
import type { EventOf } from "../../lib/engine/event.ts";

function open(limitMs?: number) {
  const requests: EventOf<"approval.request">[] = [];
  const held = new Set<Disposable>();
  const questions = new PendingApprovals({
    post: (event) => void (event.type === "approval.request" && requests.push(event)),
    waits: () => {
      const pause = { [Symbol.dispose]: () => void held.delete(pause) };
      held.add(pause);
      return pause;
    },
    abort: () => {},
  });
  const hosts = new HostApprovals(questions, limitMs === undefined ? {} : { limitMs });
  const ask = (authority: string) => {
    const target = readAuthority(authority);
    if ("fault" in target) throw new Error(target.fault);
    return hosts.ask({ target, call: undefined, cwd: "/" });
  };
  return { questions, requests, held, ask };
}

test("a question that nobody answers is closed, and is not put again", async () => {
  const { ask, requests, held } = open(20);
  const refused = {
    allow: false,
    reason: "example.com:443 is not allowed: the user was asked, and nobody answered within 20ms",
  } as const;
  expect(await ask("example.com:443")).toEqual(refused);
  expect(await ask("EXAMPLE.com.:443")).toEqual(refused);
  expect([requests.length, held.size]).toEqual([1, 0]);
});

test("an IPv6 address is told without brackets, and named with them", async () => {
  const { ask, questions, requests } = open();
  const answer = ask("[2606:4700:0::1]:443");
  expect(requests).toMatchObject([{ id: "network-1", host: "2606:4700::1", port: 443 }]);
  questions.decide("network-1", "deny", "no\nway \u{1f600}");
  expect(await answer).toEqual({
    allow: false,
    reason: String.raw`the user did not allow [2606:4700::1]:443 and said "no\nway \ud83d\ude00"`,
  });
});

test("there is no start of a command to remember", async () => {
  const { ask, questions } = open();
  const answer = ask("example.com:443");
  expect(questions.decide("network-1", "prefix")).toContain("decide once, session or deny");
  expect(questions.decide("network-1", "session")).toBeUndefined();
  expect(questions.decide("network-1", "deny")).toContain("waits for approval");
  expect(await answer).toEqual({ allow: true });
});

test("what the user has decided counts when nobody can be asked any more", async () => {
  const { ask, questions } = open();
  const answers = [ask("a.example:443"), ask("b.example:443")];
  questions.decide("network-1", "once");
  questions.end("it is over");
  expect(await Promise.all(answers)).toMatchObject([{ allow: true }, { allow: false }]);
  expect(await ask("a.example:443")).toEqual({ allow: true });
  expect(await ask("b.example:443")).toEqual({ allow: false });
});

test("more questions may follow when there are answers", async () => {
  const { ask, questions, requests } = open();
  const answers = Array.from({ length: 9 }, (_, index) => ask(`h${index}.example:443`));
  expect(await answers[8]).toMatchObject({
    reason: expect.stringContaining("the user was not asked about h8.example:443"),
  });
  for (const { id } of requests) questions.decide(id, "once");
  await Promise.all(answers);
  void ask("h8.example:443");
  expect(requests.at(-1)).toMatchObject({ id: "network-9", host: "h8.example" });
  questions.end("it is over");
});
