import type { ModelInfo, ModelSettings } from "./model.ts";

/** What of the settings the model takes, and a sentence for each that it is known not to take. */
export function fitting(settings: ModelSettings, info: ModelInfo): { settings: ModelSettings; left: string[] } {
  const { temperature, reasoningEffort, ...rest } = settings;
  const model = `${info.provider}/${info.name}`;
  const left: string[] = [];
  const takes: ModelSettings = { ...rest };
  if (temperature !== undefined && info.refuses?.includes("temperature")) {
    left.push(`${model} takes no temperature, so ${temperature} is not sent`);
  } else if (temperature !== undefined) takes.temperature = temperature;
  if (reasoningEffort !== undefined && info.refuses?.includes("reasoning_effort")) {
    left.push(`${model} does not reason, so the effort "${reasoningEffort}" is not sent`);
  } else if (reasoningEffort !== undefined) takes.reasoningEffort = reasoningEffort;
  return { settings: takes, left };
}
