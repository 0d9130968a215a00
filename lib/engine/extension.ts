import { unlessAborted } from "../async/unlessaborted.ts";
import type { Event } from "./event.ts";
import type { Turn } from "./turn.ts";

/** Asks at the limit on requests whether the turn may go on. True when it may. */
export async function* extend(
  { ledger, events, moreRequests }: Turn,
  signal: AbortSignal,
): AsyncGenerator<Event, boolean> {
  if (moreRequests === undefined) return false;
  const more = yield* events.until(unlessAborted(moreRequests(ledger.requests), signal));
  ledger.extraRequests += more;
  return more > 0;
}
