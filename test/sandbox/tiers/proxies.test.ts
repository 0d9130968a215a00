import { expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { Egress, ports } from "../../../lib/conversation/workspace/egress.ts";
import { landlockAbi } from "../../../lib/sandbox/abi.ts";
import { openBwrapTier } from "../../../lib/sandbox/tiers/bwrap/tier.ts";
import { callerAddress } from "../../../lib/egress/caller.ts";
import { proxyVariables } from "../../../lib/egress/env.ts";
import type { EgressRequest } from "../../../lib/egress/wayout.ts";
import type { Backend } from "../../../lib/sandbox/backend.ts";
import type { Policy } from "../../../lib/sandbox/policy/policy.ts";
import { openLandlockTier } from "../../../lib/sandbox/tiers/landlock/tier.ts";
import { openNamespacesTier } from "../../../lib/sandbox/tiers/namespaces/tier.ts";
import type { TierOptions } from "../../../lib/sandbox/tiers/tier.ts";
import { createCapture } from "../../../lib/shell/capture.ts";
import { Shell } from "../../../lib/shell/shell.ts";
import { hereArch } from "../../support/assembled.ts";
import { makePlace } from "../../support/place.ts";
import { policyOf } from "../../support/policy.ts";
import { until } from "../../support/until.ts";

type Open = (policy: Policy, options: TierOptions) => Promise<Backend>;

const tiers: Record<"namespaces" | "bwrap" | "landlock", Open> = {
  namespaces: async (policy, options) => await openNamespacesTier(policy, options, { processes: true }),
  bwrap: openBwrapTier,
  landlock: openLandlockTier,
};

/** A server, and a shell whose commands may reach it through the proxies, and nothing else. */
async function openBesideServer(tier: keyof typeof tiers) {
  await using held = new AsyncDisposableStack();
  const place = held.use(makePlace());
  mkdirSync(join(dirname(place.project), "tmp"), { recursive: true });
  const origin = held.use(Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("reached") }));
  const requests: EgressRequest[] = [];
  const egress = held.use(
    new Egress({
      config: { mode: "allowlist", allow: [`127.0.0.1:${origin.port}`], deny: [] },
      env: {},
      onRequest: (request) => requests.push(request),
      onFailure: (error) => {
        throw error;
      },
    }),
  );
  const policy = policyOf(place);
  const backend = held.use(
    await tiers[tier](policy, {
      arch: hereArch,
      abi: landlockAbi(),
      ports,
      onSockets: (sockets) => egress.take(sockets),
      endpoints: tier === "landlock" ? await egress.listenHere() : [],
      searchPath: process.env.PATH,
      onRefusal: () => {},
    }),
  );
  egress.begin();
  const shell = new Shell({ backend, policy, env: place.env });
  held.defer(() => shell.stopAll());
  const opened = held.move();
  return {
    requests,
    /** The variables of a caller's commands. */
    variablesOf(caller: number) {
      const host = callerAddress(caller);
      const at = (port = 0) => ({ host, port });
      return proxyVariables({ http: at(backend.proxies?.http.port), socks: at(backend.proxies?.socks.port) });
    },
    async run(command: string, env: Record<string, string> = {}) {
      const [stdout, stderr] = [createCapture(), createCapture()];
      await shell.start(command, { stdout: stdout.add, stderr: stderr.add, env }).ended;
      return Buffer.concat([stdout.kept().head, stderr.kept().head]).toString();
    },
    url: `http://127.0.0.1:${origin.port}`,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const programs = ["bwrap", "curl"].filter((program) => Bun.which(program) === null);

for (const tier of ["namespaces", "bwrap", "landlock"] as const)
  test.skipIf(programs.length > 0)(`in the ${tier} tier eight callers at once are told apart`, async () => {
    await using opened = await openBesideServer(tier);
    const callers = Array.from({ length: 8 }, (_, index) => (index === 7 ? 70_000 : index));
    // The name says who asked, so that one caller taken for another shows.
    const line = (caller: number) =>
      `curl -sS http://c${caller}.test/; curl -sS -x "$SOCKS_PROXY" http://c${caller}.test/; true`;
    await Promise.all(callers.map((caller) => opened.run(line(caller), opened.variablesOf(caller))));
    const heard = opened.requests.map(({ via, host, caller }) => `${via} ${host} ${caller}`);
    const expected = callers.flatMap((caller) => ["http", "socks"].map((via) => `${via} c${caller}.test ${caller}`));
    expect(heard.toSorted()).toEqual(expected.toSorted());
  });

test.skipIf(programs.length > 0)(
  "each command in bubblewrap finds the proxies in a network of its own, and leaves no socket behind",
  async () => {
    await using opened = await openBesideServer("bwrap");
    const ask = (proxy: string) => opened.run(`curl -sS --noproxy '' -x ${proxy} ${opened.url}`);
    expect(await ask("http://127.0.0.1:3128")).toBe("reached");
    expect(await ask("socks5h://127.0.0.1:1080")).toBe("reached");
    const before = openFiles();
    for (let round = 0; round < 5; round++) expect(await ask("http://127.0.0.1:3128")).toBe("reached");
    await until(() => openFiles() <= before);
    expect(opened.requests.every(({ caller }) => caller === undefined)).toBe(true);
  },
);

function openFiles(): number {
  return readdirSync("/proc/self/fd").length;
}
