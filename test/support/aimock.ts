import type { ChaosConfig } from "@copilotkit/aimock";
import { join } from "node:path";
import { firstLine } from "./proxyprocess.ts";

/** The shares of requests that fail: before the reply by the mock's chaos, in the middle of one by `cutRate`. */
export type MockFaults = ChaosConfig & { cutRate?: number };

export type Aimock = AsyncDisposable & { url: string };

/** In a process of its own, since the mock can only be seeded for all of one. */
export async function startAimock(seed: number, faults: MockFaults): Promise<Aimock> {
  const program = join(import.meta.dir, "aimock-program.ts");
  const child = Bun.spawn([process.execPath, program, String(seed), JSON.stringify(faults)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const origin = await firstLine(child.stdout);
  return {
    url: `${origin}/v1`,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}
