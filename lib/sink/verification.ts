import type { EventOf } from "../engine/event.ts";

/** The verification is shown like a call; the ids of calls come from providers and never look like this. */
export const verificationId = "--verify";

const tool = "Verify";

export function verificationStart({ attempt, max, command }: EventOf<"verify.start">): EventOf<"tool.start"> {
  const input = { command: attempt === 1 ? command : `${command} (${attempt} of ${max})` };
  return { type: "tool.start", id: verificationId, tool, input, effect: "write" };
}

export function verificationEnd({ passed, ...end }: EventOf<"verify.end">): EventOf<"tool.end"> {
  return { ...end, type: "tool.end", id: verificationId, tool, ok: passed };
}
