import { editDialects, modes, networks, wires } from "../config/config.ts";
import {
  isBoolean,
  isEither,
  isFigure,
  isListOf,
  isNumber,
  isOneOf,
  isRecordOf,
  isString,
  type TypeOf,
} from "./check.ts";
import { todoStates } from "./todo.ts";

/** The items of a log: one source for their types and for the checks of what was stored. */
const text = isRecordOf({ type: isOneOf("text"), text: isString });
const image = isRecordOf({ type: isOneOf("image"), mime: isString, base64: isString });
const thinking = isRecordOf({ type: isOneOf("thinking"), text: isString }, { token: isString });
const call = isRecordOf(
  { type: isOneOf("call"), id: isString, tool: isString, arguments: isString },
  { token: isString },
);
const shown = isListOf(isEither(text, image));
const usage = isRecordOf(
  { input: isFigure, cached: isFigure, output: isFigure, reasoning: isFigure },
  { written: isNumber },
);

/** Permissions of a run beyond its mode, by real paths. Sessions of earlier versions of koda have no record of them. */
const granted = isRecordOf(
  { write: isListOf(isString), read: isListOf(isString), hide: isListOf(isString), allowGit: isBoolean },
  {
    allowConfig: isBoolean,
    egress: isRecordOf({ mode: isOneOf(...networks), allow: isListOf(isString), deny: isListOf(isString) }),
  },
);

/** The address and settings of requests, without a password or key: a resumed session keeps to them. */
const connection = isRecordOf(
  { endpoint: isString, wire: isOneOf(...wires) },
  {
    keyVariable: isString,
    reasoningEffort: isOneOf("low", "medium", "high"),
    temperature: isNumber,
    maxOutputTokens: isNumber,
    edit: isOneOf(...editDialects),
  },
);

/** An instruction file as it was told to the model. */
const instruction = isRecordOf({ path: isString, hash: isString });

/** A skill as it was told to the model. */
const skill = isRecordOf({ name: isString, hash: isString });

/** The environment of a turn. A resumed session compares it with today's and tells the model only the differences. */
const environment = isRecordOf(
  {
    cwd: isString,
    date: isString,
    mode: isOneOf(...modes),
    sandbox: isString,
    writable: isListOf(isString),
    model: isString,
    provider: isString,
  },
  {
    granted,
    /** Absent in sessions of earlier versions of koda. */
    instructions: isListOf(instruction),
    skills: isListOf(skill),
    /** The agent that the run was (`--agent`). */
    agent: isString,
    /** Absent when no provider was asked: for the demo and for a replay. */
    connection,
  },
);

/** A skill whose instructions were loaded, and the only tools that it allows, if it says so. */
const activeSkill = isRecordOf({ name: isString }, { allowed: isListOf(isString) });

/** Items by their places in the log. */
const seqs = isListOf(isNumber);

/** By the price of the day; absent when that or a figure was unknown. */
const cost = { costUsd: isNumber };

/**
 * The entries of a session's log, which is append-only; the model's messages are a function of it (replay.ts). An item
 * is committed before anything about it is announced.
 */
export const itemChecks = {
  /** The model's environment: `text` is sent as a user message, `facts` is for comparison. */
  environment: isRecordOf({ text: isString, facts: environment }),
  user: isRecordOf(
    { parts: shown },
    {
      /** The submission that it was (`koda chat`). */
      submission: isString,
    },
  ),
  /** The engine's own words to the model, sent as a user message: a nudge, a repair request, a skill's instructions. */
  note: isRecordOf(
    { text: isString },
    {
      skill: activeSkill,
      /** The session of the agent whose result it delivers. */
      agent: isString,
    },
  ),
  assistant: isRecordOf(
    {
      parts: isListOf(isEither(text, thinking, call)),
      /** "cut": the run was stopped in the middle of it. */
      finish: isOneOf("stop", "calls", "length", "filter", "cut"),
      usage,
    },
    cost,
  ),
  result: isRecordOf(
    { call: isString, tool: isString, ok: isBoolean, parts: shown, durationMs: isNumber },
    {
      denied: isString,
      exitCode: isNumber,
      output: isString,
      /** The same call would give the result again, so it need not be kept for long. */
      again: isOneOf(true),
      /** The session of the agent that the call started, or asked for its result. */
      agent: isString,
      /** The id by which the model knows that agent, when the call has only started it. */
      background: isString,
    },
  ),
  todo: isRecordOf({ items: isListOf(isRecordOf({ text: isString, status: isOneOf(...todoStates) })) }),
  turn_start: isRecordOf({}),
  turn_end: isRecordOf(
    { reason: isOneOf("complete", "cancelled", "limit", "error") },
    {
      /** How many files the turn changed; absent when that is not known. */
      files: isNumber,
      error: isRecordOf({ code: isString, message: isString }),
    },
  ),
  /**
   * Replaces everything before it by `text`, which is sent as a user message, and by some items as they are: those of
   * `kept` stand before the text, those of `tail` after it.
   */
  compaction: isRecordOf(
    { text: isString, kept: seqs, tail: seqs },
    {
      /** Absent when no summary could be made. */
      usage,
      ...cost,
    },
  ),
  /** Results and prompts of which the model is sent only this many characters from now on. */
  trim: isRecordOf({ results: isListOf(isRecordOf({ seq: isNumber, length: isNumber })) }),
  /** The provider refused an image: "Invalid image" replaces those of results since `from`, and with `prompts` all. */
  images_removed: isRecordOf({ from: isNumber, prompts: isBoolean }),
  /** Takes back the last turns. The item's own turn is the one that is the last now. */
  rollback: isRecordOf({ turns: isNumber }),
} as const;

type Kinds = typeof itemChecks;
type ItemKind = keyof Kinds;
export type ItemOf<K extends ItemKind> = { [N in K]: Flat<{ kind: N } & TypeOf<Kinds[N]>> }[K];
export type Item = ItemOf<ItemKind>;
type Flat<T> = { [K in keyof T]: T[K] };

export type ConnectionFacts = Flat<TypeOf<typeof connection>>;
export type ActiveSkill = Flat<TypeOf<typeof activeSkill>>;
/** With its instructions. */
export type SkillText = ActiveSkill & { readonly text: string };
export type EnvironmentFacts = Flat<TypeOf<typeof environment>>;

/** An item in the log, `at` in milliseconds. Turns count from 1; items before the first turn have turn 0. */
export type LoggedItem = Item & { seq: number; turn: number; at: number };
