import type { TaskView } from "../shell/background.ts";
import { countsOf, showOutput } from "../shell/summary.ts";
import { noEffect } from "../trust/claim.ts";
import { taskSendName } from "./agentcalls.ts";
import listAbout from "./task-list.md" with { type: "text" };
import outputAbout from "./task-output.md" with { type: "text" };
import sendAbout from "./task-send.md" with { type: "text" };
import stopAbout from "./task-stop.md" with { type: "text" };
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

type Context = Pick<ToolContext, "tasks" | "agents">;
type Named = { id: string };
type Message = Named & { message: string };

const nothing = inputOf({});
const named = inputOf({ id: { type: "string" } }, ["id"]);

/** They touch nothing but the commands and agents that the same conversation has started. */
const claim = () => noEffect;

export const taskListTool = {
  name: "TaskList",
  about: listAbout,
  input: nothing,
  claim,
  run: list,
} satisfies Tool<Record<string, never>>;

export const taskOutputTool = {
  name: "TaskOutput",
  about: outputAbout,
  input: named,
  claim,
  run: showFresh,
} satisfies Tool<Named>;

export const taskStopTool = {
  name: "TaskStop",
  about: stopAbout,
  input: named,
  claim,
  run: stop,
} satisfies Tool<Named>;

/** Offered only where agents can be started. */
export const taskSendTool = {
  name: taskSendName,
  about: sendAbout,
  input: inputOf({ id: { type: "string" }, message: { type: "string" } }, ["id", "message"]),
  claim,
  run: send,
} satisfies Tool<Message>;

async function list(_: Record<string, never>, { tasks, agents }: Context): Promise<ToolResult> {
  const all = [...tasks.list().map(describe), ...agents.background.list()];
  return succeeded(all.length === 0 ? "There are no background tasks." : all.join("\n"));
}

async function showFresh({ id }: Named, { tasks, agents }: Context): Promise<ToolResult> {
  const seen = tasks.look(id);
  if (seen === undefined) return agents.background.look(id) ?? unknown(id, { tasks, agents });
  const { task, fresh } = seen;
  const isSilent = fresh.stdout.totalBytes + fresh.stderr.totalBytes === 0;
  const printed = isSilent
    ? ["nothing new was printed"]
    : [`new: ${countsOf(fresh)}`, ...showOutput(fresh, () => task.output)];
  return { ...succeeded([describe(task), ...printed].join("\n")), output: task.output };
}

async function stop(
  { id }: Named,
  { tasks, agents, signal }: Context & Pick<ToolContext, "signal">,
): Promise<ToolResult> {
  const wasRunning = tasks.list().some((task) => task.id === id && task.state.status === "running");
  const task = await tasks.stop(id);
  if (task === undefined) return (await agents.background.stop(id, { signal })) ?? unknown(id, { tasks, agents });
  return succeeded(wasRunning ? describe(task) : `It had already ended. ${describe(task)}`);
}

async function send({ id, message }: Message, { tasks, agents }: Context): Promise<ToolResult> {
  if (message.trim() === "") return failed(`Nothing was sent: "message" is empty.`);
  const isCommand = tasks.list().some((task) => task.id === id);
  if (isCommand) return failed(`"${id}" is a command, which takes no messages.`);
  return agents.background.send(id, message) ?? unknown(id, { tasks, agents });
}

function describe({ id, command, state, elapsedMs }: TaskView): string {
  const [line = "", ...more] = command.trim().split("\n");
  const shown = line.length > 100 || more.length > 0 ? `${line.slice(0, 100)}…` : line;
  return `${id} ${stateOf(state)}, ${Math.round(elapsedMs / 1000)} s: ${shown}`;
}

function stateOf(state: TaskView["state"]): string {
  switch (state.status) {
    case "running":
      return "is running";
    case "exited":
      return `exited with code ${state.code}`;
    case "killed":
      return `was killed by ${state.signal}`;
    default:
      return state satisfies never;
  }
}

function unknown(id: string, { tasks, agents }: Context): ToolResult {
  const known = [
    ...tasks.list().map((task) => task.id),
    ...agents.background.list().map((line) => line.split(" ", 1)[0]),
  ];
  const hint = known.length === 0 ? "There are none; they end with the run." : `There are: ${known.join(", ")}.`;
  return failed(`There is no background task "${id}". ${hint}`);
}
