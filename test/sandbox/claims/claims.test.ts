import { tryIn } from "../../support/attempts.ts";
import { claims } from "./claims.ts";

for (const tier of ["namespaces", "bwrap", "landlock", "none"] as const) await tryIn(tier, claims);
