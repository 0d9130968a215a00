import { expect, test } from "bun:test";
import { bashTool } from "../../lib/tools/bash.ts";
import { taskListTool, taskOutputTool, taskStopTool } from "../../lib/tools/tasks.ts";
import type { ToolResult } from "../../lib/tools/tool.ts";
import { makePlace } from "../support/place.ts";
import { callContext, makeShell, shellIn } from "../support/shell.ts";

const textOf = ({ parts }: ToolResult) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");
type Context = ReturnType<typeof callContext>;

const begin = async (context: Context, command: string) => bashTool.run({ command, background: true }, context);

const outputUntil = async (context: Context, id: string, pattern: RegExp): Promise<string> => {
  let text = "";
  while (!pattern.test(text)) {
    text = textOf(await taskOutputTool.run({ id }, context));
    await Bun.sleep(5);
  }
  return text;
};

test("the list names every task with its state and its command", async () => {
  await using shell = makeShell();
  const context = callContext(shell);
  expect(textOf(await taskListTool.run({}, context))).toBe("There are no background tasks.");
  await begin(context, "exit 3");
  await begin(context, "exec sleep 1000\n# of which only the first line is shown");
  await outputUntil(context, "t1", /exited/);
  const [first, second, ...more] = textOf(await taskListTool.run({}, context)).split("\n");
  expect(first).toMatch(/^t1 exited with code 3, \d+ s: exit 3$/);
  expect(second).toMatch(/^t2 is running, \d+ s: exec sleep 1000…$/);
  expect(more).toEqual([]);
});

test("the output is what is new, with true counts", async () => {
  await using place = makePlace();
  await using shell = shellIn(place);
  const context = callContext(shell);
  await begin(context, "echo one; echo two >&2; until [ -e go ]; do sleep 0.01; done; seq 1 5000");
  const first = await outputUntil(context, "t1", /new:/);
  expect(first).toMatch(/^t1 is running, \d+ s: echo one.*\nnew: stdout: \d lines \| stderr: \d lines\n/);
  await outputUntil(context, "t1", /nothing new was printed/);
  place.write("go", "");
  const later = await outputUntil(context, "t1", /\n5000\n/);
  expect(later).not.toContain("\none\n");
  expect(later).toContain('RecallContext {"output":"o1"}');
  expect(context.stored.get("o1")?.stdout.totalLines).toBe(5001);
});

test("stopping says how it ended, and that a second time there was nothing to stop", async () => {
  await using shell = makeShell();
  const context = callContext(shell);
  await begin(context, "exec sleep 1000");
  expect(textOf(await taskStopTool.run({ id: "t1" }, context))).toMatch(/^t1 was killed by SIGTERM/);
  expect(textOf(await taskStopTool.run({ id: "t1" }, context))).toMatch(/^It had already ended. t1 was killed/);
});

test("an unknown id is answered with the known ones", async () => {
  await using shell = makeShell();
  const context = callContext(shell);
  const none = await taskOutputTool.run({ id: "t1" }, context);
  expect(none.ok).toBe(false);
  expect(textOf(none)).toBe('There is no background task "t1". There are none; they end with the run.');
  await begin(context, "exec sleep 1000");
  const other = await taskStopTool.run({ id: "x" }, context);
  expect(textOf(other)).toBe('There is no background task "x". There are: t1.');
});
