import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fetchPackages } from "./fetchpackages.ts";

/** The first whose fetch obeys proxy variables; a system's own Node is often older. */
const wanted = "24";
const name = `node-${process.platform}-${process.arch}`;
const place = "node_modules/.cache/recent-node";

/** A recent Node: what `installRecentNode` fetched, or whatever the machine has. */
export function recentNode(): string {
  const fetched = resolve(place, "node_modules", name, "bin/node");
  return existsSync(fetched) ? fetched : "node";
}

/** Fetches it once; what cannot be had is said, and the tests that need it say that they are skipped. */
export function installRecentNode(): void {
  if (!knowsProxies(recentNode())) fetchPackages(place, [`${name}@${wanted}`]);
}

function knowsProxies(node: string): boolean {
  if (Bun.which(node) === null) return false;
  return Bun.spawnSync([node, "--use-env-proxy", "--version"], { stdout: "ignore", stderr: "ignore" }).exitCode === 0;
}
