import { koda, using } from "../test/support/koda.ts";
import { say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import type { Figure } from "./measure.ts";

const runCount = 50;

/** Many runs start at once on a new database: none fails, and all of their items are stored. */
export async function measure(): Promise<Figure[]> {
  await using place = makePlace();
  await using server = await startModelServer(({ lines }) =>
    say(`heard ${/number \d+/.exec(lines.at(-1)?.text ?? "")?.[0]}`),
  );
  const started = performance.now();
  const runs = await Promise.all(
    Array.from({ length: runCount }, (_, n) =>
      koda(place, ["exec", ...using(server), "--session", `s${n}`, `number ${n}`]),
    ),
  );
  const wallMs = performance.now() - started;

  const isComplete = await Promise.all(
    Array.from({ length: runCount }, async (_, n) => {
      const { stdout } = await koda(place, ["session", "show", `s${n}`, "--json"]);
      return stdout.includes(`number ${n}"`) && stdout.includes(`heard number ${n}"`) && stdout.includes('"turn_end"');
    }),
  );
  const good = runs.filter(({ exit }, n) => exit === 0 && isComplete[n]).length;
  return [
    {
      what: `${runCount} runs at once on a new database, complete`,
      value: good,
      unit: "",
      floor: runCount,
      bar: "all",
      holds: good === runCount,
    },
    { what: `${runCount} runs at once, wall`, value: wallMs, unit: "ms", bar: "", holds: true },
  ];
}
