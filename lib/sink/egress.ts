import type { EventOf } from "../engine/event.ts";

/** A connection attempt in one line: `egress: example.com:443 refused: not on the allowlist`. */
export function describeEgress({ host, port, verdict, reason }: EventOf<"egress">): string {
  const name = host.includes(":") ? `[${host}]` : host;
  const attempt = `egress: ${name}:${port} ${verdict}`;
  return reason === undefined ? attempt : `${attempt}: ${withoutHost(reason, [`${name}:${port}`, name])}`;
}

/** Most reasons begin with the host, which the line already has. */
function withoutHost(reason: string, names: readonly string[]): string {
  const opening = names.map((name) => `${name} is `).find((words) => reason.startsWith(words));
  return opening === undefined ? reason : reason.slice(opening.length);
}
