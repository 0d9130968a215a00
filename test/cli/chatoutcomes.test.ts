import { expect, test } from "bun:test";
import { walkKilledChat } from "../support/chatkills.ts";

/** KODA_SEQUENCES=1000 tries more of them, and KODA_SEED begins with another one. */
const count = Number(process.env.KODA_SEQUENCES ?? 12);
const first = Number(process.env.KODA_SEED ?? 1);

for (let seed = first; seed < first + count; seed++)
  test(
    `each submission has one outcome, however often koda is killed: client ${seed}`,
    async () => expect((await walkKilledChat(seed)).problems).toEqual([]),
    120_000,
  );
