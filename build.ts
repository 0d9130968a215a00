/**
 * Compiles the one binary: `bun build.ts [--target linux-arm64]… [--quiet]`. Without a target it builds for this
 * machine, to dist/koda, and runs the result once: a build that does not start is not a build.
 */
import { mkdirSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import { version } from "./package.json";
import { compile } from "./release/compile.ts";
import { hostTarget, type Target, targetOf, targets } from "./release/targets.ts";

const { values: options } = parseArgs({
  options: { target: { type: "string", multiple: true }, quiet: { type: "boolean", default: false } },
});

mkdirSync("dist", { recursive: true });
if (options.target === undefined) {
  const target = hostTarget();
  if (target === undefined)
    throw new Error(`koda does not run on ${process.platform}-${process.arch}: expected ${targets.join(", ")}`);
  await build("dist/koda", target);
  smoke("dist/koda");
}
for (const target of (options.target ?? []).map(targetOf)) await build(`dist/koda-${target}`, target);

async function build(outfile: string, target: Target): Promise<void> {
  const started = performance.now();
  await compile({ outfile, target, maps: "inside" });
  const megabytes = (statSync(outfile).size / 1e6).toFixed(0);
  say(`built ${outfile} (${megabytes} MB) in ${(performance.now() - started).toFixed(0)} ms`);
}

function smoke(binary: string): void {
  const result = Bun.spawnSync([binary, "--version"], { stdout: "pipe", stderr: "pipe" });
  const printed = result.stdout.toString();
  if (result.exitCode !== 0 || !printed.includes(version))
    throw new Error(
      `${binary} --version exited ${result.exitCode} and printed "${printed}${result.stderr.toString()}"`,
    );
}

function say(line: string): void {
  if (!options.quiet) process.stderr.write(`${line}\n`);
}
