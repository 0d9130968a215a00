import { bracketed } from "../egress/rules/address.ts";
import type { EventOf } from "../engine/event.ts";

/** A line for people: `egress: example.com:443 refused: not on the allowlist`. */
export function describeEgress({ host, port, verdict, reason }: EventOf<"egress">): string {
  const name = bracketed(host);
  const said = `egress: ${name}:${port} ${verdict}`;
  return reason === undefined ? said : `${said}: ${withoutHost(reason, [`${name}:${port}`, name])}`;
}

/** Most reasons begin with the host, which the line has already. */
function withoutHost(reason: string, names: readonly string[]): string {
  const opening = names.map((name) => `${name} is `).find((words) => reason.startsWith(words));
  return opening === undefined ? reason : reason.slice(opening.length);
}
