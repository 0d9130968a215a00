import type { ModelInfo, ModelSettings } from "./model.ts";

/** The settings that the model supports, and a message for each that it is known to refuse. */
export function supportedSettings(
  { temperature, reasoningEffort, ...rest }: ModelSettings,
  { provider, name, refuses = [] }: ModelInfo,
): { settings: ModelSettings; dropped: string[] } {
  const settings: ModelSettings = { ...rest };
  const dropped: string[] = [];
  if (temperature !== undefined) {
    if (!refuses.includes("temperature")) settings.temperature = temperature;
    else dropped.push(`${provider}/${name} does not accept a temperature, so ${temperature} is not sent`);
  }
  if (reasoningEffort !== undefined) {
    if (!refuses.includes("reasoning_effort")) settings.reasoningEffort = reasoningEffort;
    else dropped.push(`${provider}/${name} does not accept a reasoning effort, so "${reasoningEffort}" is not sent`);
  }
  return { settings, dropped };
}
