import type { BunPlugin } from "bun";

/**
 * For the build only: leaves out of the binary what pg-boss brings and the queue of batches has no use for, which is
 * half of it: another client of PostgreSQL, and recurring jobs.
 */
export function embedBoss(): BunPlugin {
  return {
    name: "embed-boss",
    setup(build) {
      build.onResolve({ filter: /^(pg|rrule-temporal|cron-parser)$/ }, () => ({ path: "left-out", namespace: "boss" }));
      build.onLoad({ filter: /./, namespace: "boss" }, () => ({ contents: leftOut }));
    },
  };
}

const leftOut = `const none = undefined;
export { none as default, none as RRuleTemporal, none as CronExpressionParser };`;
