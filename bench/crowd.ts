import { koda, using } from "../test/support/koda.ts";
import { say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import type { Figure } from "./measure.ts";

const crowd = 50;

/** Many runs begin at once on a database that does not exist yet: none fails, and nothing of any is missing. */
export async function measure(): Promise<Figure[]> {
  await using place = makePlace();
  await using server = await startModelServer(({ lines }) =>
    say(`heard ${/number \d+/.exec(lines.at(-1)?.text ?? "")?.[0]}`),
  );
  const started = performance.now();
  const runs = await Promise.all(
    Array.from({ length: crowd }, (_, n) =>
      koda(place, ["exec", ...using(server), "--session", `s${n}`, `number ${n}`]),
    ),
  );
  const wallMs = performance.now() - started;

  const whole = await Promise.all(
    Array.from({ length: crowd }, async (_, n) => {
      const { stdout } = await koda(place, ["session", "show", `s${n}`, "--json"]);
      return stdout.includes(`number ${n}"`) && stdout.includes(`heard number ${n}"`) && stdout.includes('"turn_end"');
    }),
  );
  const good = runs.filter(({ exit }, n) => exit === 0 && whole[n]).length;
  return [
    {
      what: `${crowd} runs at once on one new database, whole`,
      value: good,
      unit: "",
      floor: crowd,
      bar: "all",
      holds: good === crowd,
    },
    { what: `${crowd} runs at once, wall`, value: wallMs, unit: "ms", bar: "", holds: true },
  ];
}
