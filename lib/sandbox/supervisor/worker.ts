import { reporting } from "./refusals.ts";
import type { ConnectRules, Refusal } from "./rules.ts";
import { watch } from "./watch.ts";

/** What the thread is told, once, and what it tells. */
export type Task = { socket: number; rules: ConnectRules };
export type News = { kind: "ready" } | { kind: "refusal"; refusal: Refusal } | { kind: "ended" };

declare const self: Worker;

self.addEventListener("message", ({ data: { socket, rules } }: MessageEvent<Task>) => {
  tell({ kind: "ready" });
  watch(
    socket,
    rules,
    reporting((refusal) => tell({ kind: "refusal", refusal })),
  );
  tell({ kind: "ended" });
});

function tell(news: News): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  self.postMessage(news);
}
