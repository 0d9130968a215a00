import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fetchPackages } from "./fetchpackages.ts";
import { recentNode } from "./recentnode.ts";

const place = "node_modules/.cache/package-managers";

type Manager = {
  package: string;
  program: string;
  /** The arguments that install a package into the directory in which it is started. */
  install: readonly string[];
  env?: Readonly<Record<string, string>>;
};

const npm = { program: "bin/npm-cli.js", install: ["install", "--no-audit", "--no-fund"] };

export const managers = {
  npm10: { package: "npm@10", ...npm },
  npm11: { package: "npm@11", ...npm },
  npm12: { package: "npm@12", ...npm },
  pnpm: { package: "pnpm@10", program: "bin/pnpm.cjs", install: ["add"] },
  yarn1: { package: "yarn@1", program: "bin/yarn.js", install: ["add", "--no-lockfile"] },
  yarn4: { package: "@yarnpkg/cli-dist@4", program: "bin/yarn.js", install: ["add"] },
} as const satisfies Record<string, Manager>;

export type ManagerName = keyof typeof managers;

const programOf = (name: ManagerName) => resolve(place, `node_modules/${name}`, managers[name].program);

export function hasManager(name: ManagerName): boolean {
  return existsSync(programOf(name));
}

/** The command line that installs packages with it. */
export function installing(name: ManagerName, ...packages: string[]): string[] {
  return [recentNode(), programOf(name), ...managers[name].install, ...packages];
}

export function installManagers(): void {
  const missing = (Object.keys(managers) as ManagerName[]).filter((name) => !hasManager(name));
  if (missing.length > 0)
    fetchPackages(
      place,
      missing.map((name) => `${name}@npm:${managers[name].package}`),
    );
}
