import type { Table } from "../../support/attempts.ts";
import { devices } from "./devices.ts";
import { files } from "./files.ts";
import { hidden } from "./hidden.ts";
import { kernel } from "./kernel.ts";
import { limits } from "./limits.ts";
import { mounts } from "./mounts.ts";
import { proc } from "./proc.ts";
import { processes } from "./processes.ts";
import { repositories } from "./repositories.ts";
import { setid } from "./setid.ts";
import { sockets } from "./sockets.ts";
import { toolConfig, unbornToolConfig } from "./toolconfig.ts";
import { unborn } from "./unborn.ts";

/** Everything that has been thought of, by what it is aimed at. */
export const attacks: readonly Table[] = [
  processes,
  proc,
  kernel,
  mounts,
  files,
  hidden,
  repositories,
  unborn,
  toolConfig,
  unbornToolConfig,
  sockets,
  devices,
  setid,
  limits,
];
