import { expect, test } from "bun:test";
import { openChat } from "../support/chat.ts";
import { exec, type Line } from "../support/koda.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

/**
 * The hosts are names that no look-up knows, and pass for public: koda sends such a name to the user's own proxy, which
 * is a server of the test and answers for all of them.
 */
type Request = Extract<Line, { type: "approval.request" }>;

const input = (id: string) => ({ op: "input", id, text: id });
const curl = (...urls: string[]) => call("Bash", { command: urls.map((url) => `curl -sS --fail ${url}`).join("; ") });

async function open(script: Parameters<typeof openChat>[0], ...args: string[]) {
  const asked: string[] = [];
  const web = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      asked.push(url);
      return url.endsWith("/away") ? Response.redirect("http://two.invalid/") : new Response("the page\n");
    },
  });
  const place = placeBehind(web.port ?? 0);
  const chat = await openChat(script, { place, args });
  return {
    ...chat,
    asked,
    request: async () => (await chat.until(({ type }) => type === "approval.request")) as Request,
    answer: (decision: string, { id }: { id: string }, feedback?: string) =>
      chat.submit({ op: "approve", call: id, decision, ...(feedback && { feedback }) }),
    result: () => chat.server.requests.at(-1)?.lines.at(-1)?.text ?? "",
    async [Symbol.asyncDispose]() {
      await chat[Symbol.asyncDispose]();
      await web.stop(true);
    },
  };
}

function placeBehind(port: number): Place {
  const place = makePlace();
  Object.assign(place.env, { HTTP_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: "127.0.0.1" });
  return place;
}

const wishes = (events: readonly Line[]) => events.filter((line) => line.type === "egress");
const questions = (events: readonly Line[]) => events.filter((line) => line.type === "approval.request");

test("a host that is not on the list is asked about once, and reached for this run", async () => {
  await using chat = await open([curl("http://one.invalid/a", "http://one.invalid/b"), say("done")]);
  chat.submit(input("go"));
  const request = await chat.request();
  expect(request).toMatchObject({
    tool: "network",
    input: { host: "one.invalid", port: 80 },
    host: "one.invalid",
    port: 80,
    effect: "remote",
    rule: "egress: not on the allowlist",
    cwd: chat.place.project,
    decisions: ["once", "session", "deny", "abort"],
  });
  expect(chat.asked).toEqual([]);
  chat.answer("once", request);
  await chat.reply("go");
  const { events, end } = await chat.finish();
  expect(chat.result()).toContain("the page\nthe page");
  expect(chat.asked).toEqual(["http://one.invalid/a", "http://one.invalid/b"]);
  expect(wishes(events).map(({ verdict }) => verdict)).toEqual(["allowed", "allowed"]);
  expect(questions(events)).toHaveLength(1);
  expect(events.find(({ type }) => type === "tool.start")).toMatchObject({ id: request.call });
  expect(end.tools).toEqual({ ok: 1, failed: 0, denied: 0 });
});

test("a denied host stays refused for this run, with the user's words", async () => {
  await using chat = await open([
    curl("http://one.invalid/", "http://one.invalid/"),
    call("WebFetch", { url: "http://one.invalid/" }),
    say("done"),
  ]);
  chat.submit(input("go"));
  chat.answer("deny", await chat.request(), "use the mirror");
  await chat.reply("go");
  const { events } = await chat.finish();
  const reason = 'the user did not allow one.invalid:80 and said "use the mirror"';
  expect(wishes(events)).toMatchObject([1, 2, 3].map(() => ({ verdict: "refused", reason })));
  expect(chat.server.requests[1]?.lines.at(-1)?.text).toContain(`egress: one.invalid:80 was refused: ${reason}`);
  expect(chat.result()).toContain(reason);
  expect([questions(events).length, chat.asked]).toEqual([1, []]);
});

test("connections to one host at once are one question, and another port is another", async () => {
  const all = ["http://one.invalid/", "http://one.invalid/", "http://one.invalid:8080/"];
  const script = `${all.map((url) => `curl -sS ${url} & `).join("")} wait`;
  await using chat = await open([call("Bash", { command: script }), say("done")]);
  chat.submit(input("go"));
  const both = [await chat.request(), await chat.request()];
  expect(both.map(({ port }) => port).toSorted()).toEqual([80, 8080]);
  for (const request of both) chat.answer(request.port === 80 ? "session" : "deny", request);
  await chat.reply("go");
  const { events } = await chat.finish();
  expect(
    wishes(events)
      .map(({ port, verdict }) => `${port} ${verdict}`)
      .toSorted(),
  ).toEqual(["80 allowed", "80 allowed", "8080 refused"]);
  expect(questions(events)).toHaveLength(2);
});

test("WebFetch waits for the answer, also at the host of a redirect", async () => {
  await using chat = await open([call("WebFetch", { url: "http://one.invalid/away" }), say("done")]);
  chat.submit(input("go"));
  for (const host of ["one.invalid", "two.invalid"]) {
    const request = await chat.request();
    expect(request).toMatchObject({ host, port: 80 });
    chat.answer("once", request);
  }
  await chat.reply("go");
  await chat.finish();
  expect(chat.result()).toContain("the page");
  expect(chat.asked).toEqual(["http://one.invalid/away", "http://two.invalid/"]);
});

test("nobody is asked about what other rules refuse", async () => {
  const hosts = ["denied.invalid", "localhost:1", "printer.local", "127.0.0.1:1", "10.1.2.3", "[::1]:1", "[fe80::1]"];
  const command = hosts.map((host) => `curl -sS -g --noproxy '' http://${host}/`).join("; ");
  await using chat = await open([call("Bash", { command }), say("done")], "--deny-net", "denied.invalid");
  await chat.ask(input("go"));
  const { events } = await chat.finish();
  expect(questions(events)).toEqual([]);
  expect(wishes(events).map(({ verdict }) => verdict)).toEqual(hosts.map(() => "refused"));
});

test("a later deny_net beats an approval, and a later allow_net a denial", async () => {
  await using chat = await open([
    curl("http://one.invalid/", "http://two.invalid/"),
    say("done"),
    curl("http://one.invalid/", "http://two.invalid/"),
    say("done"),
  ]);
  chat.submit(input("go"));
  chat.answer("once", await chat.request());
  chat.answer("deny", await chat.request());
  await chat.reply("go");
  await chat.ask({ op: "settings", id: "s", deny_net: ["one.invalid"], allow_net: ["two.invalid"] });
  await chat.ask(input("again"));
  const { events } = await chat.finish();
  expect(wishes(events).map(({ host, verdict }) => `${host} ${verdict}`)).toEqual([
    "one.invalid allowed",
    "two.invalid refused",
    "one.invalid refused",
    "two.invalid allowed",
  ]);
  expect(questions(events)).toHaveLength(2);
});

test("nobody is asked with --net none", async () => {
  await using chat = await open([call("WebFetch", { url: "http://one.invalid/" }), say("done")], "--net", "none");
  await chat.ask(input("go"));
  const { events } = await chat.finish();
  expect(questions(events)).toEqual([]);
  expect(wishes(events)).toMatchObject([{ verdict: "refused", reason: expect.stringContaining("--net none") }]);
});

test("an abort refuses the host and ends the turn", async () => {
  await using chat = await open([curl("http://one.invalid/"), say("not reached")]);
  chat.submit(input("go"));
  chat.answer("abort", await chat.request());
  expect(await chat.reply("go")).toMatchObject({ status: "cancelled" });
  await chat.finish();
  expect([chat.server.requests.length, chat.asked]).toEqual([1, []]);
});

test("an interrupt denies an open question, and the next turn may ask again", async () => {
  await using chat = await open([curl("http://one.invalid/"), curl("http://one.invalid/"), say("done")]);
  chat.submit(input("go"));
  await chat.request();
  await chat.ask({ op: "interrupt", id: "stop" });
  await chat.reply("go");
  chat.submit(input("again"));
  chat.answer("once", await chat.request());
  expect(await chat.reply("again")).toMatchObject({ status: "done" });
  const { events } = await chat.finish();
  expect(events.filter(({ type }) => type === "approval.decision")).toMatchObject([
    { decision: "deny", feedback: "the turn was interrupted" },
    { decision: "once" },
  ]);
});

test("the end of input refuses a host that waits for an answer, and later ones at once", async () => {
  await using chat = await open([curl("http://one.invalid/", "http://two.invalid/"), say("done")]);
  chat.submit(input("go"));
  await chat.request();
  const { events, end } = await chat.finish();
  expect(end.status).toBe("done");
  expect(wishes(events)).toMatchObject([
    { host: "one.invalid", verdict: "refused", reason: expect.stringContaining("nobody can answer any more") },
    { host: "two.invalid", verdict: "refused", reason: expect.stringContaining("--allow-net two.invalid allows it") },
  ]);
});

test("a signal ends a run that waits for an answer about a host", async () => {
  await using chat = await open([curl("http://one.invalid/"), say("not reached")]);
  chat.submit(input("go"));
  await chat.request();
  chat.child.kill("SIGTERM");
  expect((await chat.finish()).exit).toBe(143);
});

test("an answer still counts when the client has given up", async () => {
  const impatient = "curl -sS --max-time 0.2 http://one.invalid/; curl -sS http://one.invalid/";
  await using chat = await open([call("Bash", { command: impatient }), say("done")]);
  chat.submit(input("go"));
  const request = await chat.request();
  await chat.until((line) => line.type === "tool.output" && line.text.includes("timed out"));
  chat.answer("once", request);
  await chat.reply("go");
  const { events } = await chat.finish();
  expect(chat.result()).toContain("the page");
  expect(questions(events)).toHaveLength(1);
});

test("a question about a host stops the clock of --idle-timeout", async () => {
  await using chat = await open([curl("http://one.invalid/"), say("done")], "--idle-timeout", "300ms");
  chat.submit(input("go"));
  const request = await chat.request();
  await Bun.sleep(900);
  chat.answer("deny", request);
  expect(await chat.reply("go")).toMatchObject({ status: "done" });
});

test("no more than eight hosts are asked about at once", async () => {
  const hosts = Array.from({ length: 9 }, (_, index) => `h${index}.invalid`);
  const command = `${hosts.map((host) => `curl -sS --fail http://${host}/ & `).join("")} wait`;
  await using chat = await open([call("Bash", { command }), say("done")]);
  chat.submit(input("go"));
  const requests = [];
  for (let count = 0; count < 8; count++) requests.push(await chat.request());
  await chat.until(({ type }) => type === "egress");
  for (const request of requests) chat.answer("once", request);
  await chat.reply("go");
  const { events } = await chat.finish();
  const refused = wishes(events).filter(({ verdict }) => verdict === "refused");
  expect(refused).toMatchObject([{ reason: expect.stringContaining("8 questions about hosts are open") }]);
  expect(chat.asked).toHaveLength(8);
});

test("agents are not asked about hosts, and neither is a run without a chat", async () => {
  await using chat = await open(async ({ lines }) => {
    const isAgent = lines.some(({ text }) => text.includes("AGENT TASK")) && !lines.some(({ text }) => text === "go");
    if (lines.at(-1)?.role === "tool") return say("done");
    return isAgent ? curl("http://one.invalid/") : call("InvokeAgent", { agent: "task", prompt: "AGENT TASK" });
  });
  await chat.ask(input("go"));
  const { events } = await chat.finish();
  expect(questions(events)).toEqual([]);
  const ofAgents = events.flatMap((line) => (line.type === "agent" ? [line.event] : []));
  expect(ofAgents.find(({ type }) => type === "egress")).toMatchObject({ host: "one.invalid", verdict: "refused" });
  await using server = await startModelServer([reply(curl("http://one.invalid/")), say("done")]);
  const ran = await exec(chat.place, server, ["go"]);
  expect(wishes(ran.events)).toMatchObject([{ reason: expect.stringContaining("--allow-net one.invalid allows it") }]);
});
