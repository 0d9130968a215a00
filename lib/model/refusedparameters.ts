import type { Wire } from "../config/config.ts";
import type { ErrorBody } from "./errorbody.ts";
import type { Fallback, RefusedRequest } from "./fallback.ts";
import type { ModelRequest, ModelSettings, OptionalParameter } from "./model.ts";

type Sender = { wire: Wire; settings: ModelSettings; request: ModelRequest };

type Row = {
  /** The parameter as providers spell it in messages. */
  spelling: RegExp;
  flag?: string;
  isSent: (sender: Sender) => boolean;
  /** How the run goes on. */
  instead: string;
};

const isLimited = ({ wire, settings, request }: Sender) =>
  wire === "chat" && (settings.maxOutputTokens ?? request.affordableOutput) !== undefined;

/** A parameter that another provider refuses is a new row. */
const rows: Readonly<Record<OptionalParameter, Row>> = {
  temperature: {
    spelling: /\btemperature\b/i,
    flag: "--temperature",
    isSent: ({ settings }) => settings.temperature !== undefined,
    instead: "The run goes on without it",
  },
  reasoning_effort: {
    spelling: /\breasoning[_.]?effort\b|['"`]reasoning['"`]|\boutput_config\b|\beffort parameter\b/i,
    flag: "--reasoning-effort",
    isSent: ({ settings }) => settings.reasoningEffort !== undefined,
    instead: "The run goes on with the model's usual effort",
  },
  stream_options: {
    spelling: /\bstream_options\b/,
    isSent: ({ wire }) => wire === "chat",
    instead: "The run goes on without it, and may not know how many tokens it uses",
  },
  include: {
    spelling: /\breasoning\.encrypted_content\b|\bencrypted content\b|['"`]include['"`]/i,
    isSent: ({ wire }) => wire === "responses",
    instead: "The run goes on without the model's earlier thoughts",
  },
  prompt_cache_key: {
    spelling: /\bprompt_cache_key\b/,
    isSent: ({ request }) => request.cacheKey !== undefined,
    instead: "The run goes on without it, and may cost more, since the provider may cache less",
  },
  max_tokens: {
    spelling: /\bmax_tokens\b/,
    isSent: isLimited,
    instead: "The run goes on with max_completion_tokens",
  },
  max_completion_tokens: {
    spelling: /\bmax_completion_tokens\b/,
    isSent: isLimited,
    instead: "The run goes on with max_tokens",
  },
};

const refusals = [
  /unsupported|not support(?:ed)?\b|not (?:accept|allow|permit)(?:ed)?\b|deprecated/i,
  /unknown|unrecognized|unexpected|extra (?:inputs|fields)|cannot find field/i,
  /only the default|only \S+ is allowed|may only be set/i,
  // None of the values that koda has for it.
  /must be one of|supported values are/i,
];

/** The parameter that a provider refuses by name; a value that is too large is something else. */
export function refusedParameter({ message, param = "" }: ErrorBody): OptionalParameter | undefined {
  if (!refusals.some((pattern) => pattern.test(message))) return undefined;
  const places = [param, message].flatMap((text) =>
    names
      .map((name) => ({ name, at: text.search(rows[name].spelling) }))
      .filter(({ name, at }) => at >= 0 || name === text)
      .sort((one, other) => one.at - other.at),
  );
  return places[0]?.name;
}

const names = Object.keys(rows).filter(isOptional);

function isOptional(name: string): name is OptionalParameter {
  return name in rows;
}

/** The flag to leave out. */
export function parameterAdvice(parameter: OptionalParameter): string | undefined {
  const { flag } = rows[parameter];
  return flag && `Leave out ${flag}`;
}

/** For a parameter that the request had, and that was not refused before. */
export function parameterFallback({ error, request, info, settings }: RefusedRequest): Fallback | undefined {
  const { parameter: name, message } = error;
  if (name === undefined || !isOptional(name)) return undefined;
  const { refuses = [], wire } = info;
  const row = rows[name];
  if (refuses.includes(name) || !row.isSent({ wire, settings, request })) return undefined;
  return { facts: { refuses: [...refuses, name] }, code: "model_settings", message: `${message}. ${row.instead}` };
}
