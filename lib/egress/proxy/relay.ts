import type { Socket } from "node:net";
import { ignoreError } from "../route/dial.ts";
import { pour } from "./pour.ts";

/**
 * Lets bytes pass between two connections, in both directions and at the pace of the slower one, until both have ended.
 * One side may end and still listen; a reset on one side is a reset on the other, so that a truncated stream is not
 * taken for a complete one.
 */
export function relay(a: Socket, b: Socket, onEnd: () => void): void {
  let open = 2;
  const end = () => {
    open -= 1;
    if (open === 0) onEnd();
  };
  pass(a, b, end);
  pass(b, a, end);
}

function pass(from: Socket, to: Socket, onClose: () => void): void {
  from.on("error", ignoreError);
  from.once("close", () => {
    const isComplete = from.readableEnded && from.writableFinished;
    if (!isComplete) to.resetAndDestroy();
    onClose();
  });
  pour({ from, to, sink: to });
}
