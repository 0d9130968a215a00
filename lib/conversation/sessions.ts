import { snapshotDirectory } from "../config/paths.ts";
import { KodaError } from "../errors.ts";
import type { ModelInfo } from "../model/model.ts";
import { assertUsers } from "../session/agents.ts";
import type { EnvironmentFacts } from "../session/item.ts";
import type { SessionInfo } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";
import type { SessionChoice, Settings } from "./settings.ts";

/** A session as it is in the database. */
export type Recorded = { info: SessionInfo; environment: EnvironmentFacts | undefined };

/** The session to continue, not yet locked; undefined for a new one. */
export function recordedIn(store: Store, choice: SessionChoice, root: string): Recorded | undefined {
  const info = chosen(store, choice, root);
  if (info !== undefined && choice.kind !== "fork")
    assertUsers(info, (parent) => `continue that one with --resume ${parent}, or copy this one with --fork ${info.id}`);
  return info && { info, environment: store.environmentOf(info.id) };
}

function chosen(store: Store, choice: SessionChoice, root: string): SessionInfo | undefined {
  switch (choice.kind) {
    case "new":
      return undefined;
    case "named":
      return store.named(choice.id);
    case "resume":
    case "fork":
      return store.find(choice.id);
    case "last": {
      const latest = store.latest(root);
      if (latest !== undefined) return latest;
      throw new KodaError("session_not_found", `No session of "${root}" to continue: see koda session list`);
    }
    default:
      return choice satisfies never;
  }
}

/** Only an unfinished turn can be continued without a prompt. */
export function assertUnfinished({ id, lastTurn }: Session): void {
  if (lastTurn === "unfinished") return;
  const why = lastTurn === "none" ? "has no turn yet" : "has finished its last turn";
  throw new KodaError("usage", `Session "${id}" ${why}: add a prompt to continue it`);
}

type Opened = { settings: Settings; recorded: Recorded | undefined; info: ModelInfo };

/** Opens the session for writing, waiting for it as long as --wait says. */
export async function openSession(
  store: Store,
  { settings, recorded, info }: Opened,
  signal: AbortSignal,
): Promise<Session> {
  const { session: choice, root, loaded } = settings;
  const wait = { ...settings.wait, signal };
  const start = { cwd: root, model: info.name, provider: info.provider, mode: loaded.config.mode };
  if (choice.kind === "named") return await store.openOrCreate(choice.id, start, wait);
  if (recorded === undefined) return store.create(start);
  const { id } = recorded.info;
  if (choice.kind !== "fork") return await store.open(id, wait);
  const fork = store.fork(id);
  const { shareSnapshots } = await import("../worktree/share.ts");
  shareSnapshots(snapshotDirectory(settings.database), { from: id, to: fork.id });
  return fork;
}
