import { expect, test } from "bun:test";
import { walkChat } from "../support/chatwalk.ts";

/** KODA_SEQUENCES=10000 tries more of them, and KODA_SEED begins with another one. */
const count = Number(process.env.KODA_SEQUENCES ?? 30);
const first = Number(process.env.KODA_SEED ?? 1);

test("whatever a client submits, each submission has one outcome, and the log has what the model was told", async () => {
  const problems: string[] = [];
  for (let seed = first; seed < first + count && problems.length === 0; seed++)
    problems.push(...(await walkChat(seed)).map((problem) => `seed ${seed}: ${problem}`));
  expect(problems).toEqual([]);
}, 3_600_000);
