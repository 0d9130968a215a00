import type { LoadedConfig, Wire } from "../config/config.ts";
import type { JsonSchema, ModelSettings } from "../model/model.ts";
import type { FailOn } from "./exec.ts";
import type { Explicit } from "./resume.ts";

export type SessionChoice =
  | { kind: "new" }
  /** Open it, or create it under this id. */
  | { kind: "named"; id: string }
  | { kind: "resume"; id: string }
  /** The one of this directory with the latest activity. */
  | { kind: "last" }
  | { kind: "fork"; id: string };

/** Everything that a command line, its environment and its files ask of a run. Nothing below this reads them again. */
export type Settings = {
  version: string;
  /** The project, absolute and real. */
  root: string;
  home: string;
  /** The home that the system knows for the account, where it knows one. */
  accountHome: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  loaded: LoadedConfig;
  /** What this very command line says, and not a file or a variable: only that widens a resumed session. */
  explicit: Explicit;
  /** The database's path, or ":memory:". */
  database: string;
  /** The directory of koda's own state: hidden from every tool, also of a run that keeps nothing there itself. */
  dataDirectory: string | undefined;
  /** Where the user's configuration is, whether there is one or not. */
  configDirectory: string | undefined;
  session: SessionChoice;
  /** How long to wait for a session that another process holds, and who says so. */
  wait: { ms: number; note: (text: string) => void };
  /** False after --no-sandbox. */
  sandboxed: boolean;
  bare: boolean;
  tools: { allow: readonly string[]; deny: readonly string[] };
  endpoint: { baseUrl?: string; apiKeyEnv?: string; wire?: Wire };
  model: ModelSettings;
  answerSchema: JsonSchema | undefined;
  /** The prompt has images (-i). */
  hasImages: boolean;
  failOn: readonly FailOn[];
  /** The flags that a later command line needs to go on under the same terms, quoted for a shell. */
  resumeFlags: readonly string[];
};
