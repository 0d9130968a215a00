import { expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { Egress, ports } from "../../../../lib/engine/egress.ts";
import { landlockAbi } from "../../../../lib/sandbox/abi.ts";
import { openBwrapTier } from "../../../../lib/sandbox/tiers/bwrap/tier.ts";
import { createCapture } from "../../../../lib/shell/capture.ts";
import { createShell } from "../../../../lib/shell/spawn.ts";
import { hereArch } from "../../../support/assembled.ts";
import { makePlace } from "../../../support/place.ts";
import { policyOf } from "../../../support/policy.ts";
import { until } from "../../../support/until.ts";

const needed = ["bwrap", "curl"].filter((program) => Bun.which(program) === null);

test.skipIf(needed.length > 0)(
  "each command in bubblewrap finds the proxies in a network of its own, and leaves no socket behind",
  async () => {
    await using place = makePlace();
    mkdirSync(join(dirname(place.project), "tmp"), { recursive: true });
    using origin = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("reached") });
    await using egress = new Egress({
      config: { mode: "allowlist", allow: [`127.0.0.1:${origin.port}`], deny: [] },
      env: {},
      onRequest: () => {},
      onFailure: (error) => {
        throw error;
      },
    });
    const policy = policyOf(place);
    using backend = await openBwrapTier(policy, {
      arch: hereArch,
      abi: landlockAbi(),
      ports,
      onSockets: (sockets) => egress.take(sockets),
      searchPath: process.env.PATH,
      onRefusal: () => {},
    });
    egress.begin();
    const shell = createShell({ backend, policy, env: place.env });
    const ask = async (proxy: string) => {
      const [stdout, stderr] = [createCapture(), createCapture()];
      const command = `curl -sS --noproxy '' -x ${proxy} http://127.0.0.1:${origin.port}/`;
      await shell.start(command, { stdout: stdout.add, stderr: stderr.add }).ended;
      return Buffer.concat([stdout.kept().head, stderr.kept().head]).toString();
    };

    expect(await ask("http://127.0.0.1:3128")).toBe("reached");
    expect(await ask("socks5h://127.0.0.1:1080")).toBe("reached");
    const before = openFiles();
    for (let round = 0; round < 5; round++) expect(await ask("http://127.0.0.1:3128")).toBe("reached");
    await until(() => openFiles() <= before);
    await shell.stopAll();
  },
);

function openFiles(): number {
  return readdirSync("/proc/self/fd").length;
}
