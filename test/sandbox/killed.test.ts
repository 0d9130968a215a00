import { expect, test } from "bun:test";
import { join } from "node:path";
import { follow, start, using } from "../support/koda.ts";
import { call } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { processesNaming } from "../support/shell.ts";
import { whyMissing } from "../support/tiers.ts";
import { until } from "../support/until.ts";

await using somewhere = makePlace();
const missing = await whyMissing("namespaces", somewhere);

/** Three that do not want to end: a job, one in a session of its own, and an orphan without an environment. */
const command = (file: string) => `
trap '' TERM INT HUP
(trap '' TERM INT HUP; exec tail -f ${file}) &
setsid tail -f ${file} > /dev/null 2>&1 &
(setsid sh -c 'env -i setsid /usr/bin/tail -f ${file} & exit' > /dev/null 2>&1 &)
until [ "$(grep -ls '${file.slice(0, -1)}[${file.slice(-1)}]$' /proc/[0-9]*/cmdline | wc -l)" -ge 3 ]; do sleep 0.01; done
echo all there; wait`;

const deaths: readonly [name: string, exit: number | null][] = [
  ["SIGKILL", null],
  ["SIGTERM", 143],
  ["SIGINT", 130],
  ["a timeout", 124],
];

test.concurrent.skipIf(missing !== undefined).each(deaths)(
  "nothing of a run outlives koda that is ended by %s",
  async (name, exit) => {
    await using place = makePlace({ file: "" });
    await using server = await startModelServer([call("Bash", { command: command(fileIn(place)) })]);
    const limit = name === "a timeout" ? ["--timeout", "5s"] : [];
    const koda = start(place, ["exec", "--json", ...using(server), ...limit, "do it"]);
    const running = follow(koda);
    await running.until((line) => line.type === "tool.output" && line.text.includes("all there"));
    expect(remaining(place).length).toBeGreaterThan(2);

    if (exit === null) {
      koda.kill("SIGKILL");
      await koda.exited;
    } else {
      if (name !== "a timeout") koda.kill(name as NodeJS.Signals);
      expect((await running.finished()).end.exit).toBe(exit);
    }
    await until(() => remaining(place).length === 0);
  },
);

function fileIn({ project }: Place): string {
  return join(project, "file");
}

/** koda itself is told the prompt, not the name of the file. */
function remaining(place: Place): number[] {
  return processesNaming(`\0${fileIn(place)}`);
}
