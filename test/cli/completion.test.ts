import { describe, expect, test } from "bun:test";
import type { ErrorCode } from "../../lib/errors.ts";
import { exec, koda, using } from "../support/koda.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { startModelServer, type Script } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

/** The end of a run says the truth about whether the task was finished. */

const goOn = "Go on with the task. If it is finished or cannot be finished, say so.";
const promise = say("Now I'll fix the parser.");
const list = (status: "pending" | "done") => call("TodoWrite", { items: [{ text: "write the test", status }] });
const openList = 'to-do items are open: "write the test"';
const announced = `the answer ends by announcing an action: "Now I'll fix the parser."`;
const report = "The parser reads CRLF.";

const schemas = {
  "schema.json": '{"type": "string"}',
  "object.json": '{"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}',
};

type Row = {
  name: string;
  script: Script;
  flags?: string[];
  prompt?: string;
  requests: number;
  ending?: `${"done" | "failed"} ${number}`;
  code?: ErrorCode;
  text: string;
  incomplete?: string[];
};

function runsOf(rows: readonly Row[]): void {
  for (const { name, script, flags = [], prompt = "do it", requests, ending = "done 0", code, ...expected } of rows)
    test.concurrent(name, async () => {
      await using place = makePlace({ "a.txt": "old\n", ...schemas });
      await using server = await startModelServer(script);
      const { end, stderr } = await exec(place, server, [prompt, ...flags]);
      const { text, incomplete } = end;
      expect({ ending: `${end.status} ${end.exit}`, code: end.error?.code, text, incomplete }, stderr).toEqual({
        ending,
        code,
        incomplete: undefined,
        ...expected,
      });
      expect(server.problems).toEqual([]);
      expect(server.requests).toHaveLength(requests);
    });
}

describe("a reply without calls", () => {
  runsOf([
    {
      name: "that only promises is followed by work, and the answer comes later",
      script: [promise, call("List", {}), say(report)],
      requests: 3,
      text: report,
    },
    {
      name: "that only promises, three times, ends the run as incomplete",
      script: () => promise,
      requests: 3,
      text: "Now I'll fix the parser.",
      incomplete: [announced],
    },
    {
      name: "that only promises fails a run with --fail-on incomplete",
      script: () => promise,
      flags: ["--fail-on", "incomplete"],
      requests: 3,
      ending: "failed 3",
      code: "incomplete",
      text: "Now I'll fix the parser.",
      incomplete: [announced],
    },
    {
      name: "counts as a promise twice in a turn, not twice in a row",
      script: [promise, call("List", {}), promise, call("Read", { path: "a.txt" }), promise],
      requests: 5,
      text: "Now I'll fix the parser.",
      incomplete: [announced],
    },
    {
      name: "is not asked to go on when only the last request would be left",
      script: [call("List", {}), promise],
      flags: ["--max-turns", "3"],
      requests: 2,
      text: "Now I'll fix the parser.",
      incomplete: [announced],
    },
    {
      name: "that was cut at its length is judged as a whole",
      script: [reply(say("Let me look:"), { finish: "length" }), say(" it is here.")],
      requests: 2,
      text: "Let me look: it is here.",
    },
    {
      name: "with nothing to add leaves the promise as the answer",
      script: [promise, say("")],
      requests: 2,
      text: "Now I'll fix the parser.",
      incomplete: [announced],
    },
    {
      name: "that has to match a schema is judged by the schema alone",
      script: [list("pending"), say('"Let me look:"')],
      flags: ["--output-schema", "schema.json"],
      requests: 2,
      text: '"Let me look:"',
    },
    {
      name: "with open to-do items is asked to go on, and the report is not lost",
      script: [list("pending"), say(report), list("done"), say("All finished.")],
      requests: 4,
      text: `${report}\n\nAll finished.`,
    },
    {
      name: "with open to-do items is the answer when the model has nothing to add",
      script: [list("pending"), say(report), list("done"), say("")],
      requests: 4,
      text: report,
    },
    {
      name: "whose to-do items stay open ends the run as incomplete",
      script: [list("pending"), say(report), say("It is finished."), say("It is finished.")],
      requests: 4,
      text: `${report}\n\nIt is finished.`,
      incomplete: [openList],
    },
    {
      name: "that says what could not be done is not asked again about its list",
      script: [list("pending"), say("I could not write the test.")],
      requests: 2,
      text: "I could not write the test.",
      incomplete: [openList],
    },
    {
      name: "that claims a change which no call made is asked to go on",
      script: [say("I've fixed a.txt."), call("Write", { path: "b.txt", content: "new\n" }), say("Fixed a.txt.")],
      prompt: "Fix the typo in a.txt",
      requests: 3,
      text: "Fixed a.txt.",
    },
    {
      name: "that shows a change in mode plan is an answer",
      script: [say("Fixed a.txt:\n```\nnew\n```")],
      prompt: "Fix the typo in a.txt",
      flags: ["--mode", "plan"],
      requests: 1,
      text: "Fixed a.txt:\n```\nnew\n```",
    },
  ]);

  test("is followed by one plain message", async () => {
    await using place = makePlace();
    await using server = await startModelServer([promise, say(report)]);
    await exec(place, server, ["do it"]);
    expect(server.requests[1]?.lines.at(-1)).toMatchObject({ role: "user", text: goOn });
  });

  test("is warned about on stderr, and stdout has it all the same", async () => {
    await using place = makePlace();
    await using server = await startModelServer(() => promise);
    const { stdout, stderr, exit } = await koda(place, ["exec", ...using(server), "do it"]);
    expect([stdout, exit]).toEqual(["Now I'll fix the parser.\n", 0]);
    expect(stderr).toContain("! The task may not be finished: the answer ends by announcing an action");
  });

  test("is not measured by the to-do list of an earlier turn", async () => {
    await using place = makePlace();
    await using server = await startModelServer([list("pending"), say("I could not write it."), say("It is noon.")]);
    const { end } = await exec(place, server, ["do it"]);
    const next = await exec(place, server, ["--resume", end.session ?? "", "what time is it?"]);
    expect(next.end).toMatchObject({ exit: 0, text: "It is noon." });
    expect(next.end.incomplete).toBeUndefined();
  });
});

describe("--fail-on no-change", () => {
  const flags = ["--fail-on", "no-change"];
  runsOf([
    {
      name: "fails a run that only looked",
      script: [call("Bash", { command: "cat a.txt" }), say(report)],
      flags,
      requests: 2,
      ending: "failed 3",
      code: "no_change",
      text: report,
    },
    {
      name: "fails a run that put everything back",
      script: [call("Bash", { command: "touch b && rm b" }), say(report)],
      flags,
      requests: 2,
      ending: "failed 3",
      code: "no_change",
      text: report,
    },
    {
      name: "passes a run whose command changed a file",
      script: [call("Bash", { command: "echo new > a.txt" }), say(report)],
      flags,
      requests: 2,
      text: report,
    },
  ]);
});

const done = (more: object = {}) => call("Finish", { status: "done", summary: report, ...more });
const required = ["--finish", "required"];

describe("--finish required", () => {
  const blocked = call("Finish", { status: "blocked", summary: "The key is missing." });
  runsOf([
    {
      name: "ends with the summary of Finish",
      script: [call("List", {}), done()],
      flags: required,
      requests: 2,
      text: report,
    },
    {
      name: "needs no request after Finish",
      script: [done()],
      flags: [...required, "--max-turns", "1"],
      requests: 1,
      text: report,
    },
    {
      name: "fails with the summary of a blocked task",
      script: [blocked],
      flags: required,
      requests: 1,
      ending: "failed 3",
      code: "blocked",
      text: "The key is missing.",
    },
    {
      name: "asks for Finish after a reply without calls",
      script: [say(report), done()],
      flags: required,
      requests: 2,
      text: report,
    },
    {
      name: "fails without Finish, and keeps what was said",
      script: () => say(report),
      flags: required,
      requests: 3,
      ending: "failed 3",
      code: "incomplete",
      text: report,
    },
    {
      name: "runs the other calls of the reply first",
      script: [[call("Write", { path: "b.txt", content: "new" }), done()]],
      flags: [...required, "--fail-on", "no-change"],
      requests: 1,
      text: report,
    },
    {
      name: "takes Finish only as the last call",
      script: [[done(), call("List", {})], done()],
      flags: required,
      requests: 2,
      text: report,
    },
    {
      name: "does not take a task as done beside a call that failed",
      script: [[call("Bash", { command: "exit 1" }), done()], done()],
      flags: required,
      requests: 2,
      text: report,
    },
    {
      name: "offers Finish whatever --allow-tool names",
      script: [done()],
      flags: [...required, "--allow-tool", "Read"],
      requests: 1,
      text: report,
    },
  ]);

  const withSchema = [...required, "--output-schema", "object.json"];
  runsOf([
    {
      name: "takes the answer from the output of Finish",
      script: [done({ output: { a: 1 } })],
      flags: withSchema,
      requests: 1,
      text: '{"a":1}',
    },
    {
      name: "takes an output that is written as text",
      script: [done({ output: '{"a": 1}' })],
      flags: withSchema,
      requests: 1,
      text: '{"a":1}',
    },
    {
      name: "has an output repaired",
      script: [done(), done({ output: { a: "x" } }), done({ output: { a: 2 } })],
      flags: withSchema,
      requests: 3,
      text: '{"a":2}',
    },
    {
      name: "gives an output up after two repairs",
      script: () => done({ output: { a: "x" } }),
      flags: withSchema,
      requests: 3,
      ending: "failed 6",
      code: "schema",
      text: "",
    },
    {
      name: "needs no output for a blocked task",
      script: [blocked],
      flags: withSchema,
      requests: 1,
      ending: "failed 3",
      code: "blocked",
      text: "The key is missing.",
    },
  ]);

  test("prints the summary, or says why the task is blocked", async () => {
    await using place = makePlace();
    await using server = await startModelServer([done(), blocked]);
    const good = await koda(place, ["exec", ...using(server), ...required, "do it"]);
    expect([good.stdout, good.exit]).toEqual([`${report}\n`, 0]);
    const bad = await koda(place, ["exec", ...using(server), ...required, "do it"]);
    expect([bad.stdout, bad.exit]).toEqual(["", 3]);
    expect(bad.stderr).toContain("koda: The task is blocked: The key is missing.");
  });

  test("is told to the model before it begins, and by the reminder", async () => {
    await using place = makePlace();
    await using server = await startModelServer([say(report), done()]);
    const { events } = await exec(place, server, [...required, "do it"]);
    expect(events[0]).toMatchObject({ tools: expect.arrayContaining(["Finish"]) });
    const told = server.requests.map(({ lines }) => lines.at(-1)?.text);
    expect(told).toEqual([
      expect.stringContaining("Only a call of Finish ends this task."),
      expect.stringContaining("say so with Finish."),
    ]);
  });

  test("cannot be used without the tool", async () => {
    await using place = makePlace();
    await using server = await startModelServer([]);
    const { end } = await exec(place, server, [...required, "--deny-tool", "Finish", "do it"]);
    expect([end.exit, end.error?.message]).toEqual([
      2,
      "--deny-tool Finish cannot be used with --finish required, which needs it",
    ]);
  });
});

test("without --finish there is no Finish", async () => {
  await using place = makePlace();
  await using server = await startModelServer([done(), say("It is there.")]);
  const { end, events } = await exec(place, server, ["do it"]);
  expect(end).toMatchObject({ text: "It is there.", tools: { ok: 0, failed: 1 } });
  expect(events[0]).toMatchObject({ tools: expect.not.arrayContaining(["Finish"]) });
});
