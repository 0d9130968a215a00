import { join } from "node:path";
import { loadConfig } from "../../lib/config/load.ts";
import type { Overrides } from "../../lib/config/overrides.ts";
import type { Conversation } from "../../lib/conversation/conversation.ts";
import { Host } from "../../lib/conversation/host.ts";
import { openConversation } from "../../lib/conversation/open.ts";
import type { SessionChoice, Settings } from "../../lib/conversation/settings.ts";
import type { ModelServer } from "./model-server.ts";
import type { Place } from "./place.ts";

type Options = { overrides?: Overrides; session?: SessionChoice; sandboxed?: boolean };

/** A conversation as `koda exec` opens it, in this process. */
export async function openWith(place: Place, server: ModelServer, options: Options = {}) {
  const host = new Host({ stop: new AbortController(), cassette: { loose: false } });
  const settings = await settingsIn(place, server, options);
  const own = { look: () => {}, has: () => false };
  const conversation: Conversation = await openConversation(host, { settings, own }, host.signal);
  return { host, conversation };
}

/** The settings of a run in this process. */
export async function settingsIn(
  place: Place,
  server: ModelServer,
  { overrides, session, sandboxed = false }: Options = {},
): Promise<Settings> {
  const { env, project: root, home } = place;
  const flags: Overrides = {
    mode: { value: "auto", flag: "--mode" },
    model: { value: "scripted", flag: "--model" },
    ...overrides,
  };
  const loaded = await loadConfig({ env, home, root, bare: false, isTrusted: false, sets: [], overrides: flags });
  const database = databaseIn(place);
  const nothing = { write: [], read: [], allowGit: false, allowConfig: false, net: false, allowNet: [] };
  return {
    version: "0",
    root,
    home,
    accountHome: home,
    env,
    loaded,
    explicit: { mode: true, ...nothing },
    database,
    dataDirectory: join(home, ".local/share/koda"),
    configDirectory: join(home, ".config/koda"),
    session: session ?? { kind: "new" },
    wait: { ms: 0, note: () => {} },
    waitLimitMs: 0,
    sandboxed,
    bare: false,
    tools: { allow: [], deny: [] },
    endpoint: { baseUrl: server.url },
    model: {},
    answerSchema: undefined,
    hasImages: false,
    verify: undefined,
    failOn: [],
    requiresFinish: false,
    agent: undefined,
    command: "exec",
    resumeFlags: [],
  };
}

/** The database of every run in this place, where the binary has it too. */
export function databaseIn({ home }: Pick<Place, "home">): string {
  return join(home, ".local/share/koda/koda.db");
}
