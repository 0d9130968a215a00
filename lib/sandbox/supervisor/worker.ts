import { statOf } from "../../system/procstat.ts";
import type { Report } from "./handle.ts";
import { stillWaits } from "./notification.ts";
import type { Refusal } from "./rules.ts";
import { type RuledSocket, Watch } from "./watch.ts";

/** For the thread: first the socket that wakes it, then each socket at which listeners arrive, announced by a byte. */
export type ToThread = { control: number } | RuledSocket;
/** From the thread. An abandoned socket is one that no listener can come from any more. */
export type FromThread =
  { kind: "refusal"; refusal: Refusal } | { kind: "abandoned"; socket: number } | { kind: "ended" };

declare const self: Worker;

let watch: Watch | undefined;

self.addEventListener("message", ({ data }: MessageEvent<ToThread>) => {
  if ("control" in data)
    watch = new Watch(data.control, {
      report: limited((refusal) => tell({ kind: "refusal", refusal })),
      abandon: (socket) => tell({ kind: "abandoned", socket }),
    });
  else watch?.add(data);
  // No message is heard meanwhile.
  if (watch?.work() === false) tell({ kind: "ended" });
});

/** A command can be refused a hundred thousand times a second. */
const mostPerSecond = 100;

function limited(report: (refusal: Refusal) => void): Report {
  let [second, count] = [0, 0];
  return (call, what) => {
    // Of a call that is gone the number may be another process's by now.
    if (!stillWaits(call)) return;
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, count] = [now, 0];
    if (++count <= mostPerSecond) report({ pid: call.pid, session: statOf(call.pid)?.session ?? 0, what });
  };
}

function tell(message: FromThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  self.postMessage(message);
}
