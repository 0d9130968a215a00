import { readFileSync } from "node:fs";
import { startAcp } from "../test/support/acp.ts";
import { using } from "../test/support/koda.ts";
import { say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import { type Figure, median } from "./measure.ts";

const rounds = 10;
const moreSessions = 20;

/** From the start of `koda acp` to an answer in an editor, and the memory of its sessions. */
export async function measure(): Promise<Figure[]> {
  await using place = makePlace();
  await using server = await startModelServer(() => say("done"));
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round++) samples.push(await sample(place, using(server)));
  const figure = (what: string, name: keyof Sample, { unit, most }: { unit: string; most: number }): Figure => {
    const value = median(samples.map((each) => each[name]));
    return { what: `koda acp, ${what}`, value, unit, bar: `≤ ${most} ${unit}`, holds: value <= most };
  };
  return [
    figure("start to the answer to initialize", "initializeMs", { unit: "ms", most: 60 }),
    figure("session/new", "newMs", { unit: "ms", most: 60 }),
    figure("prompt to end_turn", "promptMs", { unit: "ms", most: 30 }),
    figure("memory after a prompt", "memoryMb", { unit: "MB", most: 100 }),
    figure("memory for each further session", "sessionMb", { unit: "MB", most: 4 }),
  ];
}

type Sample = Record<"initializeMs" | "newMs" | "promptMs" | "memoryMb" | "sessionMb", number>;

async function sample(place: ReturnType<typeof makePlace>, args: readonly string[]): Promise<Sample> {
  const startedAt = performance.now();
  await using acp = await startAcp(place, args);
  const initializedAt = performance.now();
  const { sessionId } = await acp.begin();
  const openAt = performance.now();
  await acp.prompt(sessionId, "go");
  const endedAt = performance.now();
  const memoryMb = memoryOf(acp.child.pid);
  for (let session = 0; session < moreSessions; session++) await acp.begin();
  return {
    initializeMs: initializedAt - startedAt,
    newMs: openAt - initializedAt,
    promptMs: endedAt - openAt,
    memoryMb,
    sessionMb: (memoryOf(acp.child.pid) - memoryMb) / moreSessions,
  };
}

/** The resident memory of a process, in MB. */
function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1000;
}
