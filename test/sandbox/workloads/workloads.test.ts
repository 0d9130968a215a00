import { tryIn } from "../../support/attempts.ts";
import { programs } from "./programs.ts";
import { shell } from "./shell.ts";
import { tools } from "./tools.ts";

for (const tier of ["namespaces", "bwrap", "landlock", "none"] as const) await tryIn(tier, [tools, shell, programs]);
