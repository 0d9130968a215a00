import type { Table } from "../../support/attempts.ts";
import { files } from "./files.ts";
import { hidden } from "./hidden.ts";
import { kernel } from "./kernel.ts";
import { mounts } from "./mounts.ts";
import { proc } from "./proc.ts";
import { processes } from "./processes.ts";
import { sockets } from "./sockets.ts";

export const attacks: readonly Table[] = [processes, proc, kernel, mounts, files, hidden, sockets];
