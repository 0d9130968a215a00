import { z } from "zod";
import { modes, networks, wires } from "../config/config.ts";
import { todoStates } from "./todo.ts";

/**
 * The items of a log: one source for their types and for the decoder. Only decode.ts imports values from here, and all
 * others import types, so a new session never loads zod.
 */
const text = z.object({ type: z.literal("text"), text: z.string() });
const image = z.object({ type: z.literal("image"), mime: z.string(), base64: z.string() });
const thinking = z.object({ type: z.literal("thinking"), text: z.string(), token: z.string().exactOptional() });
const call = z.object({ type: z.literal("call"), id: z.string(), tool: z.string(), arguments: z.string() });
const shown = z.array(z.discriminatedUnion("type", [text, image])).readonly();

const figure = z.number().nullable();
const usage = z.object({ input: figure, cached: figure, output: figure, reasoning: figure });

/** Permissions of a run beyond its mode, by real paths. Sessions of earlier versions of koda have no record of them. */
const granted = z.object({
  write: z.array(z.string()).readonly(),
  read: z.array(z.string()).readonly(),
  hide: z.array(z.string()).readonly(),
  allowGit: z.boolean(),
  egress: z
    .object({ mode: z.enum(networks), allow: z.array(z.string()).readonly(), deny: z.array(z.string()).readonly() })
    .exactOptional(),
});

/** The address and settings of requests, without a password or key: a resumed session keeps to them. */
const connection = z.object({
  endpoint: z.string(),
  wire: z.enum(wires),
  keyVariable: z.string().exactOptional(),
  reasoningEffort: z.enum(["low", "medium", "high"]).exactOptional(),
  temperature: z.number().exactOptional(),
  maxOutputTokens: z.number().exactOptional(),
});

/** The environment of a turn. A resumed session compares it with today's and tells the model only the differences. */
const environment = z.object({
  cwd: z.string(),
  date: z.string(),
  mode: z.enum(modes),
  sandbox: z.string(),
  writable: z.array(z.string()).readonly(),
  model: z.string(),
  provider: z.string(),
  granted: granted.exactOptional(),
  /** Absent when no provider was asked: for the demo and for a replay. */
  connection: connection.exactOptional(),
});

const todoItem = z.object({ text: z.string(), status: z.enum(todoStates) });

/**
 * One entry of a session's log, which is append-only; the model's messages are a function of it (history.ts). An item
 * is committed before anything about it is announced.
 */
export const itemSchema = z.discriminatedUnion("kind", [
  /** The model's environment: `text` is sent as a user message, `facts` is for comparison. */
  z.object({ kind: z.literal("environment"), text: z.string(), facts: environment }),
  z.object({ kind: z.literal("user"), parts: shown }),
  /** The engine's own words to the model, sent as a user message: a nudge, a repair request. */
  z.object({ kind: z.literal("note"), text: z.string() }),
  z.object({
    kind: z.literal("assistant"),
    parts: z.array(z.discriminatedUnion("type", [text, thinking, call])).readonly(),
    /** "cut": the run was stopped in the middle of it. */
    finish: z.enum(["stop", "calls", "length", "filter", "cut"]),
    usage,
    /** By the price of the day; absent when that or a figure was unknown. */
    costUsd: z.number().exactOptional(),
  }),
  z.object({
    kind: z.literal("result"),
    call: z.string(),
    tool: z.string(),
    ok: z.boolean(),
    parts: shown,
    denied: z.string().exactOptional(),
    exitCode: z.number().exactOptional(),
    output: z.string().exactOptional(),
    durationMs: z.number(),
  }),
  z.object({ kind: z.literal("todo"), items: z.array(todoItem).readonly() }),
  z.object({ kind: z.literal("turn_start") }),
  z.object({
    kind: z.literal("turn_end"),
    reason: z.enum(["complete", "cancelled", "limit", "error"]),
    error: z.object({ code: z.string(), message: z.string() }).exactOptional(),
  }),
]);

export type ConnectionFacts = z.infer<typeof connection>;
export type EnvironmentFacts = z.infer<typeof environment>;
export type Item = z.infer<typeof itemSchema>;
export type ItemKind = Item["kind"];
export type ItemOf<K extends ItemKind> = Extract<Item, { kind: K }>;

/** An item in the log. Turns count from 1; items before the first turn have turn 0. */
export type LoggedItem = Item & { seq: number; turn: number; at: string };
