import { resolve } from "node:path";
import { newClient } from "../lib/mcp/client.ts";
import type { McpServerConfig } from "../lib/config/config.ts";
import { resultOf } from "../lib/mcp/result.ts";
import { Server } from "../lib/mcp/server.ts";
import { StdioTransport } from "../lib/mcp/stdio.ts";
import type { Shell } from "../lib/shell/shell.ts";
import { binary, using } from "../test/support/koda.ts";
import type { McpPlan } from "../test/support/mcp-program.ts";
import { serverOf } from "../test/support/mcp.ts";
import { call, say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { configure, makePlace, type Place } from "../test/support/place.ts";
import { rulesOf } from "../test/support/reach.ts";
import { callContext, makeShell } from "../test/support/shell.ts";
import { cost, type Figure, interleaved, median } from "./measure.ts";

export async function measure(): Promise<Figure[]> {
  return [await callOverhead(), await round(), await lateStart(), await flooded()];
}

const calls = 1_000;
const echo: McpPlan = { tools: [{ name: "echo", does: "echo", annotations: { readOnlyHint: true } }] };

/** A call by koda's own path, and by the library alone over the same transport. */
async function callOverhead(): Promise<Figure> {
  await using shell = makeShell();
  await using server = new Server("s", configOf(echo), surroundingsOf(shell));
  await server.attempted;
  const bare = newClient({
    version: "0",
    root: "/",
    onListChanged: () => {},
    onElicit: async () => ({ action: "decline" }),
    canElicit: false,
  });
  await bare.connect(new StdioTransport((stderr) => shell.open(lineOf(echo), { stderr })));
  const context = callContext(shell);
  const [koda = [], library = []] = await interleaved(
    calls,
    () =>
      timed(async () =>
        resultOf(await server.call("echo", { text: "hello" }, { context, onProgress: () => {} }), context),
      ),
    () => timed(async () => bare.callTool({ name: "echo", arguments: { text: "hello" } })),
  );
  await bare.close();
  const [value, floor] = [median(koda), median(library)];
  const over = value - floor;
  const what = `a call of an MCP server's tool, median of ${calls}`;
  return { what, value, unit: "ms", floor, bar: `${over.toFixed(2)} ms over (≤ 0.5)`, holds: over <= 0.5 };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function configOf(plan: McpPlan): McpServerConfig {
  const [command, ...args] = lineOf(plan);
  return {
    enabled: true,
    required: false,
    isProjects: false,
    enabledTools: undefined,
    disabledTools: [],
    startTimeoutMs: 10_000,
    callTimeoutMs: 10_000,
    transport: { kind: "stdio", command, args, env: new Map(), cwd: undefined },
  };
}

function surroundingsOf(shell: Shell): ConstructorParameters<typeof Server>[2] {
  return {
    version: "0",
    root: "/",
    env: {},
    start: (line, options) => shell.open(line, options),
    egress: { rules: rulesOf(), onRequest: () => {} },
    writable: [],
    canElicit: false,
    mayStart: async () => {},
    warn: () => {},
  };
}

const lineOf = (plan: McpPlan) =>
  [process.execPath, resolve("test/support/mcp-program.ts"), JSON.stringify(plan)] as const;

const rounds = 30;

/** A round with a call of a server's tool, beside one of a built-in tool that does as little. */
async function round(): Promise<Figure> {
  const [value, floor] = [await gapOf("s__echo"), await gapOf("List")];
  const over = value - floor;
  const what = `one tool round of a server's tool, beside List, of ${rounds}`;
  return { what, value, unit: "ms", floor, bar: `${over.toFixed(1)} ms over (≤ 3)`, holds: over <= 3 };
}

async function gapOf(tool: string): Promise<number> {
  await using place = makePlace();
  configure(place, { mcp: { servers: { s: serverOf(echo) } } });
  await using model = await startModelServer((_request, index) =>
    index < rounds ? call(tool, tool === "List" ? { path: ".", depth: index + 1 } : { index }) : say("Done."),
  );
  await runOnce(place, model, rounds);
  const gaps = model.requests
    .slice(1)
    .map(({ arrivedAt }, before) => arrivedAt - (model.requests[before]?.sentAt ?? Number.NaN));
  return median(gaps);
}

/** The first request of a run with a hanging server and one that takes 1.2 s, beside a run without servers. */
async function lateStart(): Promise<Figure> {
  const optional = { required: false };
  const servers = {
    hanging: serverOf({ silent: true }, optional),
    late: serverOf({ late: 1_200 }, optional),
    echo: serverOf(echo),
  };
  const [late = [], none = []] = await interleaved(
    5,
    () => firstRequest({ mcp: { servers } }),
    () => firstRequest({}),
  );
  const [value, floor] = [median(late), median(none)];
  const over = value - floor;
  const what = "the first request with a hanging and a late MCP server";
  return { what, value, unit: "ms", floor, bar: `${over.toFixed(0)} ms over (≤ 1050)`, holds: over <= 1_050 };
}

/** The most memory of runs beside servers that send without end, or lists of 9 MB a page. */
async function flooded(): Promise<Figure> {
  const params = { level: "info", data: "x".repeat(900) };
  const line = JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params });
  const plans: McpPlan[] = [{ ...echo, floods: { line } }, { endless: 9_000_000 }];
  let value = 0;
  for (const plan of plans) {
    await using place = makePlace();
    configure(place, { mcp: { servers: { s: serverOf(plan) } } });
    await using model = await startModelServer([call("Bash", { command: "sleep 0.5" }), say("Done.")]);
    const argv = [binary, "exec", "--output", "json", ...using(model), "go"];
    const { exit, peakMb } = await cost(argv, { cwd: place.project, env: place.env, peak: true });
    if (exit !== 0) throw new Error(`exit ${exit}`);
    value = Math.max(value, peakMb);
  }
  const what = "memory beside a server that floods, or has lists of 9 MB a page";
  return { what, value, unit: "MB", bar: "≤ 120 MB", holds: value <= 120 };
}

async function firstRequest(config: unknown): Promise<number> {
  await using place = makePlace();
  configure(place, config);
  await using model = await startModelServer([say("Done.")]);
  const start = performance.now();
  await runOnce(place, model);
  return (model.requests[0]?.arrivedAt ?? Number.NaN) - start;
}

async function runOnce(place: Place, model: { url: string }, ok = 0): Promise<void> {
  const argv = [binary, "exec", "--output", "json", ...using(model), "go"];
  const { exit, stdout } = await cost(argv, { cwd: place.project, env: place.env });
  const { tools } = JSON.parse(stdout);
  if (exit !== 0 || tools.ok !== ok) throw new Error(`exit ${exit}, ${tools.ok} calls`);
}
