import { expect, test } from "bun:test";
import { binary, checkLines, type Line, using } from "../support/koda.ts";
import { serverOf } from "../support/mcp.ts";
import type { McpPlan } from "../support/mcp-program.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";
import { memoryOf } from "../support/proxyprocess.ts";
import { finished, spawnIn } from "../support/run.ts";

const results = (events: readonly Line[]) => events.filter((event) => event.type === "tool.end");
const reading = { readOnlyHint: true };

/** All that koda may ever hold. */
const mostMegabytes = 120;

const message = (rest: object) => JSON.stringify({ jsonrpc: "2.0", ...rest });
const padding = "x".repeat(900);
const floods: readonly { what: string; floods: NonNullable<McpPlan["floods"]>; isUsable?: true }[] = [
  {
    what: "log messages",
    floods: { line: message({ method: "notifications/message", params: { level: "info", data: padding } }) },
    isUsable: true,
  },
  { what: "text on stdout", floods: { line: padding }, isUsable: true },
  { what: "text on stderr", floods: { line: padding, to: "stderr" }, isUsable: true },
  { what: "changes of its tools", floods: { line: message({ method: "notifications/tools/list_changed" }) } },
  {
    what: "progress of nothing",
    floods: { line: message({ method: "notifications/progress", params: { progressToken: 1, progress: 1 } }) },
  },
  { what: "answers that were never asked for", floods: { line: message({ id: 4_242, result: { padding } }) } },
  { what: "requests", floods: { line: message({ id: 1, method: "ping" }) } },
  { what: "messages of no kind", floods: { line: message({ padding }) } },
];

test.each(floods)(
  "a server that sends $what without a pause costs neither the run nor its memory",
  async ({ floods, isUsable }) => {
    await using place = makePlace();
    const echo = { name: "echo", does: "echo", annotations: reading } as const;
    configure(place, { mcp: { servers: { s: serverOf({ floods, tools: [echo] }, { call_timeout: "10s" }) } } });
    const { promise, resolve } = Promise.withResolvers<number>();
    let peak = 0;
    await using model = await startModelServer(async (_, index) => {
      peak = memoryOf(await promise, "VmHWM");
      if (index === 3) return say("Done.");
      return [call("s__echo", { n: index }), call("Bash", { command: `sleep 0.3; echo ${index}` })];
    });
    const child = spawnIn(place, [binary, "exec", "--json", ...using(model), "go"]);
    resolve(child.pid);
    const { events, end } = checkLines(await finished(child));
    expect(end.status).toBe("done");
    const ok = results(events).flatMap((event) => (event.ok ? [event.tool] : []));
    expect(ok.filter((tool) => tool === "Bash")).toHaveLength(3);
    if (isUsable) expect(ok.filter((tool) => tool === "s__echo")).toHaveLength(3);
    expect(peak).toBeLessThan(mostMegabytes);
  },
  30_000,
);
