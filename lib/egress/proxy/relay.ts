import type { Socket } from "node:net";
import { pour } from "./pour.ts";

/**
 * Lets bytes pass between two connections, in both directions and at the pace of the slower one, until both have said
 * their end. One side may end and still listen; a reset on one side is a reset on the other, so that nobody takes what
 * was cut off for what was whole.
 */
export function relay(a: Socket, b: Socket, whenOver: () => void): void {
  let open = 2;
  const over = () => {
    open -= 1;
    if (open === 0) whenOver();
  };
  pass(a, b, over);
  pass(b, a, over);
}

function pass(from: Socket, to: Socket, over: () => void): void {
  from.on("error", ended);
  from.once("close", () => {
    const whole = from.readableEnded && from.writableFinished;
    if (!whole) to.resetAndDestroy();
    over();
  });
  pour({ from, to, sink: to });
}

/** "close" follows every error. */
function ended(): void {}
