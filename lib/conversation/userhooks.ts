import type { HookConfig } from "../config/config.ts";
import type { Event } from "../engine/event.ts";
import type { Hooks } from "../engine/hooks.ts";
import { finishName } from "../tools/finish.ts";
import { ownToolNames } from "./skilltools.ts";

/** The tools that a hook can be for, beside those of servers. */
const tools: readonly string[] = [...ownToolNames, finishName];

/** The hooks of a conversation, which load nothing where there are none. */
export async function openUserHooks(
  hooks: readonly HookConfig[],
  post: (event: Event) => void,
): Promise<Hooks | undefined> {
  if (hooks.length === 0) return undefined;
  const { openHooks } = await import("../hooks/hooks.ts");
  const warn = (message: string) => post({ type: "notice", level: "warn", code: "hook", message });
  return openHooks(hooks, { tools, warn });
}

/** The faults of hooks that a conversation would warn of. */
export async function userHookFaults(hooks: readonly HookConfig[]): Promise<string[]> {
  const { hookFaults } = await import("../hooks/hooks.ts");
  return hookFaults(hooks, tools);
}
