import { KodaError } from "../errors.ts";
import type { Conversation } from "./conversation.ts";
import { definitionsFor } from "./definitions.ts";
import { serverVariables } from "./servers.ts";
import type { Settings } from "./settings.ts";

/** Restarts the MCP servers, as these settings have them. Those that run go on when that fails. */
export async function refreshServers(
  { parts, stance, authority }: Conversation,
  settings: Settings,
  signal: AbortSignal,
): Promise<void> {
  const { servers, workspace, events, elicit } = parts;
  const { servers: configs } = definitionsFor(settings, stance.allowance);
  if (!workspace.hides(serverVariables(configs))) throw new KodaError("busy", otherSandbox);
  const allowance = { ...stance.allowance, mode: authority.mode };
  const post = events.post.bind(events);
  await servers.replace(configs, { settings, workspace, allowance, canElicit: elicit !== undefined, post }, signal);
}

const otherSandbox =
  "The servers have variables that commands in this sandbox could read: change a setting that makes another sandbox, " +
  "or resume the session, to use them";
