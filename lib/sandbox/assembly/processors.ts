import { arm64 } from "./arm64.ts";
import type { Processor } from "./processor.ts";
import { x64 } from "./x64.ts";

export const processors = { x64, arm64 } as const satisfies Record<string, Processor>;

/** Those that koda confines commands on. */
export type Arch = keyof typeof processors;
