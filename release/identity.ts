import { version } from "../package.json";

/** The constants that tell a binary what it is, as JavaScript; `koda --version --json` prints them. */
export function identityOf(target: string): Record<string, string> {
  const { commit, modified } = checkout();
  const constants = { KODA_VERSION: version, KODA_COMMIT: commit, KODA_MODIFIED: modified, KODA_TARGET: target };
  return Object.fromEntries(Object.entries(constants).map(([name, value]) => [name, JSON.stringify(value)]));
}

type Checkout = { commit: string | null; modified: boolean };

/** Null where there is no git or no repository. */
function checkout(): Checkout {
  const argv = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"];
  const { success, stdout } = Bun.spawnSync(argv, { cwd: import.meta.dir, stdout: "pipe", stderr: "ignore" });
  const [commit = null, dirty] = success ? stdout.toString().trim().split("-") : [];
  return { commit, modified: dirty !== undefined };
}
