import { exec } from "../test/support/koda.ts";
import { call, say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import type { Figure } from "./measure.ts";

/** The size of the first request with all tools, and the requests that begin with the one before. */
export async function measure(): Promise<Figure[]> {
  await using place = makePlace({ "a.txt": "one\n" });
  await using server = await startModelServer([
    call("Read", { path: "a.txt" }),
    call("Edit", { path: "a.txt", edits: [{ old: "one", new: "two" }] }),
    [call("Bash", { command: "cat a.txt" }), call("Grep", { pattern: "two" })],
    say("Done."),
  ]);
  await exec(place, server, ["Turn one into two."]);
  const bodies = server.requests.map(({ raw }) => raw);
  const shared = bodies.slice(1).map((body, k) => beginsWith(bodies[k] ?? "", body));
  const kilobytes = (bodies[0]?.length ?? 0) / 1000;
  return [
    { what: "first request with all tools", value: kilobytes, unit: "kB", bar: "≤ 12 kB", holds: kilobytes <= 12 },
    {
      what: "requests that begin with the one before",
      value: shared.filter(Boolean).length,
      unit: "",
      floor: shared.length,
      bar: "all",
      holds: shared.every(Boolean),
    },
  ];
}

/** True when the next request is the same, byte for byte, up to the end of the list of messages. */
function beginsWith(before: string, after: string): boolean {
  return after.startsWith(before.replace(/[\]}]+$/, ""));
}
