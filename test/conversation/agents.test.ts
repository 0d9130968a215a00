import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type AgentObserver, runAgent } from "../../lib/conversation/agentrun.ts";
import type { Event } from "../../lib/engine/event.ts";
import { KodaError } from "../../lib/errors.ts";
import { resultsIn, scriptFor } from "../support/agents.ts";
import { openScene, prompt as words, said, scripted } from "../support/conversation.ts";
import { call, hang, reply, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { databaseIn, openWith } from "../support/opened.ts";
import { makePlace, type Place } from "../support/place.ts";

const prompt = words.map((part) => ({ ...part, text: "go" }));
const behind = (text: string) => call("InvokeAgent", { agent: "explore", prompt: text, background: true });
const interrupted = () => new KodaError("sigint", "interrupted");

const agentEvents = (events: readonly Event[], id: string) =>
  events.flatMap((event) => (event.type === "agent" && event.agent.id === id ? [event.event] : []));

test("the result of an agent is not lost when the turn that waited for it is interrupted", async () => {
  await using place = makePlace();
  const [waits, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using server = await startModelServer(
    scriptFor({
      go: (request, index) => {
        if (index === 0) return behind("SLOW");
        if (index === 1) waits.resolve();
        return say(
          index === 1 ? "I wait." : `Heard: ${request.lines.findLast(({ text }) => text.includes("ended"))?.text}`,
        );
      },
      SLOW: async () => {
        await mayEnd.promise;
        return say("slow answer");
      },
    }),
  );
  const { host, conversation } = await openWith(place, server);
  await using _ = host;
  const { agents, inbox } = conversation;
  inbox.expect(() => agents.background.next());
  const interrupt = new AbortController();
  for await (const event of conversation.run({ prompt }, interrupt.signal))
    // The answer is there, and the turn waits.
    if (event.type === "usage" && event.turn.output === 10) setImmediate(() => interrupt.abort(interrupted()));
  await waits.promise;
  mayEnd.resolve();
  await agents.background.next();
  const second = await Array.fromAsync(conversation.run({ prompt }, host.signal));
  expect(JSON.stringify(second.filter(({ type }) => type === "text.done"))).toContain("slow answer");
});

test("an agent that is cancelled while it waits has an end and no beginning", async () => {
  await using place = makePlace();
  const all = Promise.withResolvers<void>();
  let asked = 0;
  await using server = await startModelServer(
    scriptFor({
      go: [reply(...Array.from({ length: 9 }, (_, index) => behind(`AGENT ${index}`))), hang()],
      AGENT: () => {
        if (++asked === 8) all.resolve();
        return hang();
      },
    }),
  );
  const { host, conversation } = await openWith(place, server);
  const interrupt = new AbortController();
  const running = Array.fromAsync(conversation.run({ prompt }, interrupt.signal));
  await all.promise;
  interrupt.abort(interrupted());
  const events = await running;
  events.push(...(await Array.fromAsync(conversation.parts.events.until(host[Symbol.asyncDispose]()))));
  expect(conversation.totals.agents).toEqual({ ok: 0, failed: 0, cancelled: 9 });
  expect(agentEvents(events, "a9").map(({ type }) => type)).toEqual(["end"]);
});

test("an agent that waits is not open yet, and a fork has the history of its call when it begins", async () => {
  await using place = makePlace();
  const mayEnd = Promise.withResolvers<void>();
  let [results, forked, opened] = [[], [], 0] as [(string | undefined)[], string[], number];
  await using server = await startModelServer(
    scriptFor({
      go: (request, index) => {
        if (index === 0) {
          const fork = call("InvokeAgent", { agent: "fork", prompt: "FORK", background: true });
          return reply(...Array.from({ length: 8 }, (_, one) => behind(`AGENT ${one}`)), fork);
        }
        if (index === 1) return reply(call("TaskList", {}), call("TaskSend", { id: "a9", message: "And this." }));
        if (index > 2) return say("End.");
        results = resultsIn(request).slice(8);
        opened = sessionsIn(place);
        mayEnd.resolve();
        return say("I wait.");
      },
      AGENT: async () => (await mayEnd.promise, say("done")),
      FORK: ({ lines }) => {
        forked = lines.slice(-4).map(({ text }) => text);
        return say("forked");
      },
    }),
  );
  const { host, conversation } = await openWith(place, server);
  await using _ = host;
  conversation.inbox.expect(() => conversation.agents.background.next());
  await Array.fromAsync(conversation.run({ prompt }, host.signal));
  expect(results[0]).toBe('The agent waits, since 8 are running already. It will run in the background as "a9".');
  expect(results[1]).toContain("a8 explore is running, 0 s: AGENT 7\na9 fork is waiting, 0 s: FORK");
  expect(opened).toBe(9);
  expect(forked).toEqual([
    "[koda: this call belongs to the conversation that started you.]",
    "[koda: you are the agent that this call has started. Your task follows; answer that alone.]",
    "FORK",
    "And this.",
  ]);
  expect(conversation.totals.agents).toEqual({ ok: 9, failed: 0, cancelled: 0 });
});

function sessionsIn(place: Place): number {
  using db = new Database(databaseIn(place), { readonly: true });
  return db.query("SELECT id FROM session").all().length;
}

test("the result of an agent is not lost when the call that stops it is interrupted", async () => {
  await using place = makePlace();
  const deaf = "trap '' TERM; sleep 1000";
  const started = Promise.withResolvers<void>();
  await using server = await startModelServer(
    scriptFor({
      go: async (request, index) => {
        if (index === 0) return call("InvokeAgent", { agent: "task", prompt: "DEAF", background: true });
        await started.promise;
        if (index === 1) return call("TaskStop", { id: "a1" });
        return say(`Heard: ${request.lines.findLast(({ text }) => text.includes("has ended"))?.text}`);
      },
      // Each takes the whole grace of a command, one after the other: longer than that of TaskStop.
      DEAF: (_, index) =>
        index === 0
          ? call("Bash", { command: deaf, background: true })
          : call("Bash", { command: `echo ready; ${deaf}` }),
    }),
  );
  const { host, conversation } = await openWith(place, server);
  await using _ = host;
  const interrupt = new AbortController();
  for await (const event of conversation.run({ prompt }, interrupt.signal)) {
    if (event.type === "agent" && event.event.type === "tool.output") started.resolve();
    if (event.type === "tool.start" && event.tool === "TaskStop") interrupt.abort(interrupted());
  }
  await conversation.agents.background.next();
  const second = await Array.fromAsync(conversation.run({ prompt }, host.signal));
  expect(JSON.stringify(second.filter(({ type }) => type === "text.done"))).toContain("the agent was stopped");
}, 30_000);

test("commands of an agent that runs write by the mode that its parent has at the moment, whatever they look like", async () => {
  // Not in /tmp, which is another one for commands.
  await using place = makePlace({ "a.txt": "a\n" }, "/var/tmp");
  const compare = "echo x > made; true";
  for (const args of ["init -q", "add .", "config user.name x", "config user.email x", "commit -qm x"])
    Bun.spawnSync(["git", ...args.split(" ")], { cwd: place.project, env: place.env });
  Bun.spawnSync(["git", "config", "diff.external", compare], { cwd: place.project, env: place.env });
  place.write("a.txt", "b\n");
  const made = join(place.project, "made");
  const written: boolean[] = [];
  const modes = ["plan", "auto"] as const;
  await using server = await startModelServer(
    scriptFor({
      go: [call("InvokeAgent", { agent: "task", prompt: "WORK" }), say("End.")],
      WORK: (_, index) => {
        if (index > 0) written.push(existsSync(made));
        rmSync(made, { force: true });
        const mode = modes[index - 1];
        if (mode !== undefined) conversation.change({ mode });
        return index > modes.length ? say("Done.") : call("Bash", { command: "git diff; true" });
      },
    }),
  );
  const { host, conversation } = await openWith(place, server, { sandboxed: true });
  await using _ = host;
  await Array.fromAsync(conversation.run({ prompt }, host.signal));
  expect(written).toEqual([true, false, true]);
  expect(conversation.totals.tools).toEqual({ ok: 4, failed: 0, denied: 0 });
});

test("a message that comes after the last request of an agent is answered before it ends", async () => {
  await using scene = await openScene(scripted(said("First."), said("Second.")));
  const { conversation: child, host } = scene;
  const messages = ["More."];
  const observer: AgentObserver = {
    onOpen() {},
    onOver() {},
    onEvent(event) {
      if (event.type === "turn.end") for (const text of messages.splice(0)) child.inbox.add([{ type: "text", text }]);
    },
  };
  const wanted = { id: "a1", name: "explore", prompt: "Look.", call: "c1", session: child.parts.session.id };
  const run = { wanted, open: async () => child, request: { prompt: words }, post: () => {}, observer };
  const { outcome } = await runAgent(run, host.signal);
  expect(outcome).toMatchObject({ status: "done", text: "First.\n\nSecond." });
});
