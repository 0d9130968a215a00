import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { binary, using } from "../test/support/koda.ts";
import { call, say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace, type Place } from "../test/support/place.ts";
import { cost, type Figure, median } from "./measure.ts";

const rounds = 20;

/** The time from the end of a reply that calls `echo` to the end of the next request; results are committed between. */
export async function measure(floors: string): Promise<Figure[]> {
  return [await round(floors, "sh"), await round(floors, "bash"), await sandboxed(floors)];
}

/** The cost of the sandbox in a round, including the search for new repositories; bench/sandbox.ts has the details. */
async function sandboxed(floors: string): Promise<Figure> {
  await using place = makePlace({ ".git/HEAD": "ref: refs/heads/main\n" }, "/var/tmp");
  const [value, floor] = [
    median(await gaps(place, (url) => [binary, "exec", ...using({ url }), "Count."])),
    median(await gaps(place, (url) => [join(floors, "round"), url, String(rounds)])),
  ];
  const over = value - floor;
  return {
    what: "the same in the sandbox",
    value,
    unit: "ms",
    floor,
    bar: `${over.toFixed(1)} ms over (≤ 6)`,
    holds: over <= 6,
  };
}

/** Without bash on PATH, koda and the floor both use sh. */
async function round(floors: string, shell: "sh" | "bash"): Promise<Figure> {
  await using place = makePlace();
  if (shell === "sh") {
    place.env.PATH = join(place.home, "bin");
    mkdirSync(place.env.PATH);
    symlinkSync("/bin/sh", join(place.env.PATH, "sh"));
  }
  const [koda, bare] = [
    await gaps(place, (url) => [binary, "exec", "--no-sandbox", ...using({ url }), "Count."]),
    await gaps(place, (url) => [join(floors, "round"), url, String(rounds)]),
  ];
  const [value, floor] = [median(koda), median(bare)];
  const what = `one tool round of \`echo\` in ${shell}, median of ${rounds}`;
  return { what, value, unit: "ms", floor, bar: "≤ 3.75 x (3 ms at 0.8 ms)", holds: value <= 3.75 * floor };
}

async function gaps(place: Place, program: (url: string) => string[]): Promise<number[]> {
  // The same command in every round would be a loop.
  await using server = await startModelServer((_request, index) =>
    index < rounds ? call("Bash", { command: `echo ${index}` }) : say("Done."),
  );
  const { exit } = await cost(program(server.url), { cwd: place.project, env: place.env });
  if (exit !== 0 || server.requests.length !== rounds + 1) throw new Error(`exit ${exit}`);
  return server.requests
    .slice(1)
    .map(({ arrivedAt }, before) => arrivedAt - (server.requests[before]?.sentAt ?? Number.NaN));
}
