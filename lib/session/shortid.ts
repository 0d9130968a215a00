import type { Database } from "./database.ts";
import type { SessionInfo } from "./log.ts";

/** A generated id begins with the time; eight digits of it are about a minute. */
const generated = /^[\da-f]{8}-[\da-f]{4}-7/;
const [leastGenerated, leastChosen] = [8, 24] as const;

/**
 * The shortest prefix of an id that no other has, but not shorter than is easy to tell apart. Agents are started within
 * a minute of their parent, so a prefix of both is the parent's.
 */
export function shortIdOf(db: Database, { id, agent }: Pick<SessionInfo, "id" | "agent">): string {
  const among = agent === undefined ? "agent IS NULL" : "TRUE";
  const before = `SELECT id FROM session WHERE id < ? AND ${among} ORDER BY id DESC LIMIT 1`;
  const after = `SELECT id FROM session WHERE id > ? AND ${among} ORDER BY id LIMIT 1`;
  const shared = [before, after].map((sql) => sharedLength(id, db.get<{ id: string }>(sql, [id])?.id));
  const length = Math.max(generated.test(id) ? leastGenerated : leastChosen, Math.max(...shared) + 1);
  return id.slice(0, id[length - 1] === "-" ? length + 1 : length);
}

function sharedLength(id: string, other = ""): number {
  let length = 0;
  while (length < id.length && id[length] === other[length]) length++;
  return length;
}
