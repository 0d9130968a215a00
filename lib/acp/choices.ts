import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk";
import type { SettingsChange } from "../chat/submission.ts";
import { type Mode, modes } from "../config/config.ts";
import type { EventOf } from "../engine/event.ts";
import { KodaError } from "../errors.ts";

type Start = Pick<EventOf<"session.start">, "mode" | "provider" | "model" | "effort">;

const aboutModes: Record<Mode, string> = {
  plan: "Reads only",
  safe: "Asks before it changes anything",
  auto: "Works in the project on its own, in a sandbox",
};

export function modesOf({ mode }: Start): SessionModeState {
  const availableModes = modes.map((id) => ({ id, name: id, description: aboutModes[id] }));
  return { currentModeId: mode, availableModes };
}

const efforts = ["low", "medium", "high"];
const unset = "default";

/** The settings that a client offers to choose. `models` are the known ones, with their providers. */
export function choicesOf(start: Start, models: readonly string[]): SessionConfigOption[] {
  const { mode, effort } = start;
  const model = `${start.provider}/${start.model}`;
  return [
    select("mode", "Mode", { current: mode, values: modes }),
    select("model", "Model", { current: model, values: [...new Set([model, ...models])] }),
    // Once an effort is set, it cannot be left to the provider again.
    select("thought_level", "Effort", {
      current: effort ?? unset,
      values: effort === undefined ? [unset, ...efforts] : efforts,
    }),
  ];
}

function select(
  id: string,
  name: string,
  { current, values }: { current: string; values: readonly string[] },
): SessionConfigOption {
  const options = values.map((value) => ({ value, name: value }));
  return { type: "select", id, name, category: id, currentValue: current, options };
}

export function modeNamed(id: string): Mode {
  const mode = modes.find((candidate) => candidate === id);
  if (mode === undefined) throw new KodaError("usage", `Unknown mode "${id}": expected ${modes.join(", ")}`);
  return mode;
}

/** The change of the settings that a choice is. */
export function changeBy({ configId, value }: { configId: string; value: unknown }): SettingsChange {
  if (typeof value !== "string")
    throw new KodaError("usage", `Bad value for "${configId}": expected one of its options`);
  switch (configId) {
    case "mode":
      return { mode: modeNamed(value) };
    case "model":
      return { model: value };
    case "thought_level": {
      if (value === unset) return {};
      if (efforts.includes(value)) return { effort: value as NonNullable<SettingsChange["effort"]> };
      throw new KodaError("usage", `Unknown effort "${value}": expected ${efforts.join(", ")}`);
    }
    default:
      throw new KodaError("usage", `Unknown option "${configId}": expected mode, model or thought_level`);
  }
}
