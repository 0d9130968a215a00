import { loadSkill, type Skills, skillsNamed } from "../agents/skills.ts";
import { userItem } from "../engine/accept.ts";
import { skillNote } from "../engine/call.ts";
import type { Event, EventOf, Events } from "../engine/event.ts";
import { hookNote } from "../engine/hooknote.ts";
import { type HookVerdict, runHooks } from "../engine/hooks.ts";
import type { Turn } from "../engine/turn.ts";
import { KodaError } from "../errors.ts";
import { textOfParts } from "../session/content.ts";
import type { Item } from "../session/item.ts";
import type { TurnRequest } from "./conversation.ts";

type Opening = {
  environment: Item | undefined;
  /** Notes on the agents that earlier runs have left. */
  left: readonly Item[];
  skills: Skills;
  events: Events;
  contextWindow: number;
};

/** The first items of a turn: what the model does not know of its environment yet, the skills, and the request. */
export function openingItems(request: TurnRequest, opening: Opening): Item[] {
  const { environment, left } = opening;
  const skills = namedSkills(request.words ?? "", opening);
  return [...(environment === undefined ? [] : [environment]), ...left, ...skills, ...requestItems(request)];
}

function requestItems({ prompt, submission, isWoken = false }: TurnRequest): Item[] {
  if (prompt.length > 0) return [userItem(prompt, submission)];
  return isWoken ? [] : [{ kind: "note", text: goOn }];
}

const goOn = "The last turn did not finish. Continue the task. If it is finished or cannot be finished, say so.";

/** Loads the skills that are named (`$deploy`). */
function namedSkills(words: string, { skills, events, contextWindow }: Opening): Item[] {
  return skillsNamed(words, skills).flatMap((named) => {
    const skill = loadSkill(named, contextWindow);
    const [level, message] =
      "problem" in skill ? (["warn", skill.problem] as const) : (["info", `Loaded the skill "${skill.name}"`] as const);
    events.post({ type: "notice", level, code: "skill", message });
    return "problem" in skill ? [] : [skillNote(skill)];
  });
}

type Asked = {
  /** Absent when the hooks on the start of the session have run. */
  source: EventOf<"session.start">["source"] | "clear" | undefined;
  request: TurnRequest;
};

/** The words of the hooks on a start and on a prompt. Nothing is recorded when one denies. */
export async function* askHooks(
  turn: Turn,
  { source, request: { prompt } }: Asked,
  signal: AbortSignal,
): AsyncGenerator<Event, Item[]> {
  // The hooks are not told of agents.
  if (source === "agent") return [];
  const words: Item[] = [];
  if (source !== undefined) {
    const occasion = { on: "session.start" as const, source: source === "new" ? ("startup" as const) : source };
    words.push(...said("session.start", yield* runHooks(turn, occasion, signal)));
  }
  if (prompt.length === 0) return words;
  const occasion = { on: "prompt" as const, prompt: textOfParts(prompt), turn: turn.session.info.turns + 1 };
  return [...words, ...said("prompt", yield* runHooks(turn, occasion, signal))];
}

/** The context of hooks that allowed it; throws when one denied. */
function said(on: "session.start" | "prompt", { denied, context }: HookVerdict): Item[] {
  if (denied !== undefined)
    throw new KodaError("hook", `The ${on === "prompt" ? "prompt" : "session"} was denied by the ${denied.rule}`);
  return context === undefined ? [] : [hookNote(on, context)];
}
