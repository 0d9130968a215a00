import { expect, test } from "bun:test";
import type { McpServerConfig } from "../../lib/config/config.ts";
import { Servers } from "../../lib/mcp/servers.ts";
import type { McpPlan } from "../support/mcp-program.ts";
import { serverOf } from "../support/mcp.ts";
import { rulesOf } from "../support/reach.ts";
import { makeShell } from "../support/shell.ts";
import { until } from "../support/until.ts";

function configOf(plan: McpPlan, required = true): McpServerConfig {
  const { command, args } = serverOf(plan) as { command: string; args: string[] };
  return {
    enabled: true,
    required,
    isProjects: false,
    enabledTools: undefined,
    disabledTools: [],
    startTimeoutMs: 60_000,
    callTimeoutMs: 60_000,
    transport: { kind: "stdio", command, args, env: new Map(), cwd: undefined },
  };
}

/** Servers of whom all but `silent` have connected or failed. */
async function start(plans: Readonly<Record<string, McpServerConfig>>) {
  const shell = makeShell();
  const warned: string[] = [];
  const servers = new Servers(new Map(Object.entries(plans)), {
    version: "0",
    root: "/",
    env: {},
    start: (line, options) => shell.open(line, options),
    egress: { rules: rulesOf(), onRequest: () => {} },
    writable: [],
    canElicit: false,
    mayStart: async () => {},
    warn: (message) => void warned.push(message),
  });
  await until(() => servers.statuses.every(({ name, status }) => name === "silent" || status !== "connecting"));
  return {
    servers,
    warned,
    async [Symbol.asyncDispose]() {
      await servers[Symbol.asyncDispose]();
      await shell[Symbol.asyncDispose]();
    },
  };
}

const { signal } = new AbortController();
const interrupted = AbortSignal.abort();

test("an interrupt of the start leaves out the servers that are not connected", async () => {
  await using started = await start({ good: configOf({}), silent: configOf({ silent: true }) });
  await started.servers.ready(signal, interrupted);
  const { statuses, connected } = started.servers;
  expect(statuses.map(({ status }) => status)).toEqual(["connected", "failed"]);
  expect(connected).toEqual(["good"]);
  expect(started.warned).toEqual([expect.stringContaining('"silent" is not used')]);
});

test("a required server that has failed ends the start all the same", async () => {
  await using started = await start({ silent: configOf({ silent: true }), broken: configOf({ exits: 3 }) });
  await expect(started.servers.ready(signal, interrupted)).rejects.toThrow("broken: exited with 3");
});
