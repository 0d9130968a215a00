import type { EventOf } from "../engine/event.ts";

/** Commands of the user's are shown like calls. The ids of calls come from providers and never look like this one. */
const verificationId = "--verify";

export function commandStart(event: EventOf<"verify.start" | "shell.start">): EventOf<"tool.start"> {
  const { command } = event;
  if (event.type === "shell.start")
    return { type: "tool.start", id: event.id, tool: "Shell", input: { command }, effect: "write" };
  const { attempt, max } = event;
  const input = { command: attempt === 1 ? command : `${command} (${attempt} of ${max})` };
  return { type: "tool.start", id: verificationId, tool: "Verify", input, effect: "write" };
}

export function commandOutput(event: EventOf<"verify.output" | "shell.output">): EventOf<"tool.output"> {
  const id = event.type === "shell.output" ? event.id : verificationId;
  return { type: "tool.output", id, stream: event.stream, text: event.text };
}

export function commandEnd(event: EventOf<"verify.end" | "shell.end">): EventOf<"tool.end"> {
  if (event.type === "shell.end") return { ...event, type: "tool.end", tool: "Shell", ok: event.exit_code === 0 };
  const { passed, ...end } = event;
  return { ...end, type: "tool.end", id: verificationId, tool: "Verify", ok: passed };
}
