import { sessionOf } from "./process.ts";
import type { Report } from "./handle.ts";
import { stillWaits } from "./notification.ts";
import type { Refusal } from "./rules.ts";

/** A command can be refused a hundred thousand times a second. */
const mostPerSecond = 100;

/** Tells of refusals, but of no more than a fixed number in any second. */
export function reporting(tell: (refusal: Refusal) => void): Report {
  let second = 0;
  let told = 0;
  return (call, what) => {
    // Of a call that is gone the number may be another process's by now.
    if (!stillWaits(call)) return;
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, told] = [now, 0];
    if (++told <= mostPerSecond) tell({ pid: call.pid, session: sessionOf(call.pid), what });
  };
}
