import { binary, koda, using } from "../test/support/koda.ts";
import { call, say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace, type Place } from "../test/support/place.ts";
import { cost, type Figure } from "./measure.ts";

const cases = [
  { what: "a command that prints 50 MB", command: "yes 'a line of some length, forty bytes long' | head -c 50000000" },
  { what: "a command that prints 2 GB without a newline", command: "head -c 2000000000 /dev/zero | tr '\\0' 'x'" },
] as const;

/** The memory and time of a command with much output, compared with `cat` reading it from a pipe. */
export async function measure(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { what, command } of cases) {
    await using place = makePlace();
    await using server = await startModelServer([call("Bash", { command, timeout: 120 }), say("Done.")]);
    const options = { cwd: place.project, env: place.env, keep: false, peak: true };
    const run = await cost([binary, "exec", "--session", "printed", ...using(server), "Print."], options);
    if (run.exit !== 0) throw new Error(`${what}: exit ${run.exit}`);
    const wallMs = await commandMs(place);
    const cat = await cost(["sh", "-c", `{ ${command}; } | cat > /dev/null`], options);
    figures.push(
      {
        what: `${what}, wall`,
        value: wallMs,
        unit: "ms",
        floor: cat.wallMs,
        bar: "≤ 3 x cat",
        holds: wallMs <= 3 * cat.wallMs,
      },
      { what: `${what}, peak memory`, value: run.peakMb, unit: "MB", bar: "≤ 80 MB", holds: run.peakMb <= 80 },
    );
  }
  return figures;
}

/** The duration of the command itself, without the rest of the run. */
async function commandMs(place: Place): Promise<number> {
  const { stdout } = await koda(place, ["session", "show", "printed", "--json"]);
  const { items } = JSON.parse(stdout) as { items: { kind: string; duration_ms?: number }[] };
  return items.find(({ kind }) => kind === "result")?.duration_ms ?? Number.NaN;
}
