import { expect, test } from "bun:test";
import { join } from "node:path";
import { embedBoss } from "../../lib/fleet/postgres/embed.ts";
import { componentsOf } from "../../release/components.ts";
import { hostTarget } from "../../release/targets.ts";
import { defaults, task } from "../support/fleettasks.ts";
import { makePlace } from "../support/place.ts";
import { missingPostgres, startPostgres } from "../support/postgres.ts";

const why = missingPostgres === undefined ? "" : ` (${missingPostgres})`;

test.skipIf(missingPostgres !== undefined)(
  `the queue works without what the binary leaves out of it${why}`,
  async () => {
    await using place = makePlace();
    const built = await Bun.build({
      entrypoints: ["lib/fleet/postgres/remote.ts"],
      outdir: place.project,
      target: "bun",
      plugins: [embedBoss()],
      metafile: true,
    });
    const modules = Object.keys(built.metafile?.inputs ?? {});
    const target = hostTarget();
    if (target === undefined) throw new Error("no release is made for this machine");
    const names = componentsOf(modules, target).map(({ name }) => name);
    expect(names).toContain("pg-boss");
    for (const name of ["pg", "pg-protocol", "cron-parser", "luxon", "rrule-temporal"])
      expect(names).not.toContain(name);

    await using server = await startPostgres();
    const { openRemoteFleet } = await import(join(place.project, "remote.js"));
    await using store = await openRemoteFleet(await server.create(), { role: "worker", note: () => {} });
    await store.submit("b", defaults, [task("a")]);
    expect(await store.claim({ id: "w", labels: [], host: "here", pid: 1, version: "1" }, "b")).toMatchObject({
      attempt: 1,
      task: { key: "a" },
    });
  },
);
