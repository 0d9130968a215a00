import type { Event, Notice } from "./event.ts";
import type { Turn } from "./turn.ts";

/** Guards the files that git and koda execute or obey: `before` calls that may write, and `after` them. */
export type RepositoryGuard = {
  before(signal: AbortSignal): Promise<void>;
  after(): Promise<readonly Notice[]>;
};

type GuardedTurn = Pick<Turn, "repositories" | "events" | "session"> & { changes: Pick<Turn["changes"], "watch"> };

/** Work that may write. The user and the model are told what it left behind that git or koda would execute. */
export async function guarded<T>(turn: GuardedTurn, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  await turn.repositories.before(signal);
  let found: readonly Notice[] = [];
  let result: T;
  try {
    await turn.changes.watch(signal);
    result = await work();
  } finally {
    found = await findingsOf(turn);
  }
  tellModel(turn, found);
  return result;
}

/** The same for work that yields events. */
export async function* runGuarded<T>(
  turn: GuardedTurn,
  work: AsyncGenerator<Event, T>,
  signal: AbortSignal,
): AsyncGenerator<Event, T> {
  await turn.repositories.before(signal);
  let found: readonly Notice[] = [];
  let result: T;
  try {
    await turn.changes.watch(signal);
    result = yield* work;
  } finally {
    found = await findingsOf(turn);
  }
  yield* turn.events.drain();
  tellModel(turn, found);
  return result;
}

async function findingsOf({ repositories, events }: GuardedTurn): Promise<readonly Notice[]> {
  const notices = await repositories.after();
  for (const notice of notices) events.post(notice);
  return notices;
}

function tellModel({ session }: GuardedTurn, notices: readonly Notice[]): void {
  const serious = notices.filter(({ level }) => level !== "info");
  if (serious.length > 0) session.append({ kind: "note", text: serious.map(({ message }) => message).join("\n") });
}
