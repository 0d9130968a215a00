import type { Table } from "../../support/attempts.ts";
import { kernel } from "./kernel.ts";
import { proc } from "./proc.ts";
import { processes } from "./processes.ts";

export const attacks: readonly Table[] = [processes, proc, kernel];
