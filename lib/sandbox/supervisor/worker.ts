import { Channel } from "../../async/channel.ts";
import type { Report } from "./handle.ts";
import { stillWaits } from "./notification.ts";
import { sessionOf } from "./process.ts";
import type { Refusal } from "./rules.ts";
import { type RuledSocket, watch } from "./watch.ts";

/** For the thread: first the socket that wakes it, then each socket at which listeners arrive, announced by a byte. */
export type ToThread = { control: number } | RuledSocket;
/** From the thread. An abandoned socket is one that no listener can come from any more. */
export type FromThread =
  { kind: "refusal"; refusal: Refusal } | { kind: "abandoned"; socket: number } | { kind: "ended" };

declare const self: Worker;

const sockets = new Channel<RuledSocket>();

self.addEventListener("message", ({ data }: MessageEvent<ToThread>) => {
  if ("control" in data) void work(data.control);
  else sockets.push(data);
});

async function work(control: number): Promise<void> {
  await watch(control, sockets[Symbol.asyncIterator](), {
    report: limited((refusal) => tell({ kind: "refusal", refusal })),
    abandon: (socket) => tell({ kind: "abandoned", socket }),
  });
  tell({ kind: "ended" });
}

/** A command can be refused a hundred thousand times a second. */
const mostPerSecond = 100;

function limited(report: (refusal: Refusal) => void): Report {
  let [second, count] = [0, 0];
  return (call, what) => {
    // Of a call that is gone the number may be another process's by now.
    if (!stillWaits(call)) return;
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, count] = [now, 0];
    if (++count <= mostPerSecond) report({ pid: call.pid, session: sessionOf(call.pid), what });
  };
}

function tell(message: FromThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  self.postMessage(message);
}
