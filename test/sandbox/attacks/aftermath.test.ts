import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { unlessRefused } from "../../../lib/errors.ts";
import { makePlace, type Place } from "../../support/place.ts";
import { processesNaming } from "../../support/shell.ts";
import { openTier, type TierName, users, whyMissing } from "../../support/tiers.ts";
import { until } from "../../support/until.ts";

/** Each goes on when the command that started it is over. */
const ways: readonly [what: string, run: string][] = [
  ["a job", 'tail -f "$FILE" &'],
  ["who has left the session", 'setsid tail -f "$FILE" &'],
  ["a grandchild who has left it twice over", '(setsid sh -c "setsid tail -f \\"$FILE\\" & exit" &)'],
  ["who does not hear", `(trap '' TERM HUP INT; exec setsid tail -f "$FILE") &`],
  ["who was told not to mind", 'nohup setsid tail -f "$FILE" > /dev/null 2>&1 &'],
  ["who has closed the streams", 'setsid tail -f "$FILE" < /dev/null > /dev/null 2>&1 &'],
  ["who has dropped the environment", 'env -i setsid /usr/bin/tail -f "$FILE" < /dev/null > /dev/null 2>&1 &'],
  ["who has been stopped", `setsid sh -c 'kill -STOP $$; :' "$FILE" &`],
];

/** Until whoever is to stay is there; the pattern does not match itself. */
const untilThere = 'until grep -qs "${FILE%e}[e]" /proc/[0-9]*/cmdline; do sleep 0.01; done';

const confining: readonly TierName[] = ["namespaces", "bwrap", "landlock"];
const everyone = confining.flatMap((name) => users.map((user) => ({ name, user })));

for (const { name, user } of everyone) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name, somewhere, { user });
  describe.concurrent.skipIf(missing !== undefined)(
    `${name}, as ${user}${missing === undefined ? "" : ` (${missing})`}`,
    () => {
      test.each(ways)("nobody outlives the run: %s", async (_, run) => {
        await using place = makePlace({ file: "" });
        const tier = await openTier(name, place, { user });
        await tier.run(`${run}\n${untilThere}`, { env: { FILE: fileIn(place) } });
        if (tier.backend.ownProcesses) await until(() => remaining(place).length === 0);
        await tier[Symbol.asyncDispose]();
        expect(remaining(place)).toEqual([]);
      });

      test("nobody outlives koda, even when that is killed", async () => {
        await using place = makePlace({ file: "" });
        const tier = await openTier(name, place, { user });
        const all = ways.map(([, run]) => run).join("\n");
        const command = tier.start(`${all}\n${untilThere}; echo there; wait`, { env: { FILE: fileIn(place) } });
        await command.prints(/there/);
        process.kill(tier.pid, "SIGKILL");
        if (tier.backend.ownProcesses) await until(() => remaining(place).length === 0);
        else expect(tier.backend.notes.join("\n")).toMatch(/may go on when koda is killed/);
        await tier[Symbol.asyncDispose]();
        // Some of them may be about to become what they are known by.
        await until(() => killAll(place) === 0);
      });
    },
  );
}

function fileIn({ project }: Place): string {
  return join(project, "file");
}

/** Returns how many there were. */
function killAll(place: Place): number {
  const pids = remaining(place);
  for (const pid of pids) unlessRefused(() => process.kill(pid, "SIGKILL"));
  return pids.length;
}

function remaining(place: Place): number[] {
  return processesNaming(fileIn(place));
}
