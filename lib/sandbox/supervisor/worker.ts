import { Channel } from "../../async/channel.ts";
import { reporting } from "./refusals.ts";
import type { Refusal } from "./rules.ts";
import { type RuledSocket, watch } from "./watch.ts";

/** For the thread: first the socket that wakes it, then each socket at which listeners arrive, announced by a byte. */
export type ToThread = { control: number } | RuledSocket;
/** From the thread. An abandoned socket is one that no listener can come from any more. */
export type FromThread =
  { kind: "ready" } | { kind: "refusal"; refusal: Refusal } | { kind: "abandoned"; socket: number } | { kind: "ended" };

declare const self: Worker;

const sockets = new Channel<RuledSocket>();

self.addEventListener("message", ({ data }: MessageEvent<ToThread>) => {
  if ("control" in data) void work(data.control);
  else sockets.push(data);
});

async function work(control: number): Promise<void> {
  tell({ kind: "ready" });
  await watch(control, sockets[Symbol.asyncIterator](), {
    report: reporting((refusal) => tell({ kind: "refusal", refusal })),
    abandon: (socket) => tell({ kind: "abandoned", socket }),
  });
  tell({ kind: "ended" });
}

function tell(message: FromThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  self.postMessage(message);
}
