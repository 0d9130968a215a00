import type { Prompts } from "../agents/prompts.ts";
import type { Skills } from "../agents/skills.ts";
import type { Mode } from "../config/config.ts";
import type { OwnOutput } from "../engine/changes.ts";
import type { Totals } from "../engine/end.ts";
import type { EventOf, Events } from "../engine/event.ts";
import type { KeyWatch } from "../engine/exposure.ts";
import type { Hooks } from "../engine/hooks.ts";
import type { Ledger } from "../engine/ledger.ts";
import type { Elicit } from "../tools/elicitation.ts";
import type { ItemOf } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import type { AgentSource } from "./agentpool.ts";
import type { Approvals } from "./approvals.ts";
import type { Conversation } from "./conversation.ts";
import type { Definitions } from "./definitions.ts";
import type { Host } from "./host.ts";
import type { RunPatch } from "./runpatch.ts";
import type { ServerSet } from "./serverset.ts";
import type { Settings } from "./settings.ts";
import type { ModelStance, Stance } from "./stance.ts";
import type { UserQuestions } from "./userquestions.ts";
import type { Workspace } from "./workspace.ts";

/** The part of a chat's earlier conversation that its next one goes on with. */
export type Earlier = {
  /** Absent when the next one begins another session. */
  session?: Session;
  ledger: Ledger;
  paths: ReadonlySet<string>;
  executable: Totals["executableChanges"];
  agents: NonNullable<Totals["agents"]>;
};

/** Everything that a conversation is made of when it is opened. */
export type ConversationParts = {
  host: Host;
  session: Session;
  stance: Stance;
  system: string;
  workspace: Workspace;
  servers: ServerSet;
  /** The conversation that started this one, which is then an agent: it has the workspace and the servers of that. */
  parent?: Conversation;
  /** Absent where no agent may be started. */
  agents?: AgentSource;
  /** Absent for an agent. */
  definitions?: Definitions;
  /** Connects to another model; undefined when that takes another sandbox. Absent for an agent. */
  withModel?: (settings: Settings) => Promise<ModelStance | undefined>;
  ledger: Ledger;
  earlier?: Earlier | undefined;
  /** Absent where the user cannot be asked. */
  approvals?: Approvals | undefined;
  /** The same for questions that are answered by text. */
  questions?: UserQuestions | undefined;
  /** The same for those of MCP servers. */
  elicit?: Elicit | undefined;
  events: Events;
  skills: Skills;
  prompts: Prompts;
  /** The first event, without the title of a new session. */
  start: EventOf<"session.start">;
  /** The environment as far as the model does not know it yet. */
  environment: (stance: Stance, mode: Mode) => ItemOf<"environment"> | undefined;
  settings: Pick<Settings, "env" | "dataDirectory" | "database" | "loaded">;
  own: OwnOutput;
  /** For --patch. */
  patch?: RunPatch | undefined;
  watchKey: KeyWatch;
  /** Absent when the user has configured none. */
  hooks?: Hooks | undefined;
  /** The command line that continues the session; null when nothing is kept. */
  resume: string | null;
};
