/**
 * Compiles the one binary: `bun build.ts [--target linux-arm64]… [--quiet]`. Without a target it builds for this
 * machine, to dist/koda, and runs the result once: a build that does not start is not a build.
 */
import { mkdirSync, rmSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import { embedCatalog } from "./lib/model/catalog/embed.ts";
import { embedSupervisor, supervisorWorker } from "./lib/sandbox/supervisor/embed.ts";
import { embedSearch } from "./lib/tools/search/embed.ts";
import { version } from "./package.json";
import { identityOf } from "./release/identity.ts";

const targets = ["linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl"] as const;
type Target = (typeof targets)[number];

const { values: options } = parseArgs({
  options: { target: { type: "string", multiple: true }, quiet: { type: "boolean", default: false } },
});

mkdirSync("dist", { recursive: true });
if (options.target === undefined) {
  await compile("dist/koda");
  smoke("dist/koda");
}
for (const name of options.target ?? []) {
  const target = targets.find((candidate) => candidate === name);
  if (target === undefined) throw new Error(`Unknown target "${name}": expected one of ${targets.join(", ")}`);
  await compile(`dist/koda-${target}`, target);
}

async function compile(outfile: string, target?: Target): Promise<void> {
  const started = performance.now();
  await Bun.build({
    entrypoints: ["cmd/main.ts", supervisorWorker],
    plugins: [embedSearch(target), embedSupervisor(), embedCatalog()],
    define: identityOf(target ?? `${process.platform}-${process.arch}`),
    minify: true,
    // Bytecode needs esm, or the build "succeeds" and the binary dies at its first import.meta.
    bytecode: true,
    format: "esm",
    // Commands import what is heavy when they need it; splitting is what keeps that out of the others' start.
    splitting: true,
    sourcemap: "linked",
    compile: {
      outfile,
      ...(target && { target: `bun-${target}` }),
      // Nine tenths of a short run is code that runs once and is not worth compiling; cmd/exec.ts ends this.
      jitPolicy: 4,
      // koda starts in directories that somebody else wrote: nothing in them may run in koda or change it.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  // The binary holds its maps; the copies beside it are of no use.
  for (const map of new Bun.Glob("dist/*.map").scanSync()) rmSync(map);
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
