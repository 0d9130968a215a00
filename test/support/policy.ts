import { dirname, join } from "node:path";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import type { Place } from "./place.ts";

/** The policy of a run in a test's own project; what is not said is empty. */
export function policyOf({ home, project }: Pick<Place, "home" | "project">, rules: Partial<Policy> = {}): Policy {
  const tmp = join(dirname(project), "tmp");
  return {
    root: project,
    home,
    tmp,
    privateTmp: false,
    write: [project, tmp],
    readonly: [],
    repositories: { paths: [] },
    hide: [],
    show: [],
    copies: [],
    allowGit: false,
    allowConfig: false,
    network: "allowlist",
    limits: {},
    ...rules,
  };
}
