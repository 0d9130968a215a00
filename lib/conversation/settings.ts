import type { LoadedConfig, Wire } from "../config/config.ts";
import type { JsonSchema, ModelSettings } from "../model/model.ts";
import type { TurnRequest } from "./conversation.ts";
import type { FailOn } from "./failon.ts";
import type { Explicit } from "./resume.ts";

export type SessionChoice =
  | { kind: "new" }
  /** Open it, or create it under this id. */
  | { kind: "named"; id: string }
  | { kind: "resume"; id: string }
  /** The one of this directory with the latest activity. */
  | { kind: "last" }
  | { kind: "fork"; id: string };

/** Everything that flags, environment and files ask of a run. No other code reads them again. */
export type Settings = {
  version: string;
  /** The project, absolute and real. */
  root: string;
  home: string;
  /** The home directory of the account in the user database, if it has one. */
  accountHome: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  loaded: LoadedConfig;
  /** Permissions that this command line itself grants: only these widen a resumed session. */
  explicit: Explicit;
  /** The database's path, or ":memory:". */
  database: string;
  /** The directory of koda's own state, which is hidden from every tool, even in a run that keeps nothing there. */
  dataDirectory: string | undefined;
  /** The directory of the user's configuration, even if it does not exist. */
  configDirectory: string | undefined;
  session: SessionChoice;
  /** The time to wait for a session that another process holds, and the way to say so. */
  wait: { ms: number; note: (text: string) => void };
  /** The longest wait for a limit of the provider's to reset. */
  waitLimitMs: number;
  /** False after --no-sandbox. */
  sandboxed: boolean;
  bare: boolean;
  /** The agent that the run is (--agent). */
  agent: string | undefined;
  tools: { allow: readonly string[]; deny: readonly string[] };
  endpoint: { baseUrl?: string; apiKeyEnv?: string; wire?: Wire };
  model: ModelSettings;
  answerSchema: JsonSchema | undefined;
  /** The prompt has images (-i). */
  hasImages: boolean;
  /** The command of --verify. */
  verify: TurnRequest["verify"];
  failOn: readonly FailOn[];
  /** Only a call of Finish ends the run (--finish required). */
  requiresFinish: boolean;
  /** The command that continues the session. */
  command: "exec" | "chat";
  /** Flags that a later command line needs to continue under the same terms, quoted for a shell. */
  resumeFlags: readonly string[];
};
