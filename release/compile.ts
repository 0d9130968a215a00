import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { embedBoss } from "../lib/fleet/postgres/embed.ts";
import { embedMcp } from "../lib/mcp/embed.ts";
import { embedCatalog } from "../lib/model/catalog/embed.ts";
import { embedSupervisor, supervisorWorker } from "../lib/sandbox/supervisor/embed.ts";
import { embedSearch } from "../lib/tools/search/embed.ts";
import { identityOf } from "./identity.ts";
import { bunOf, ripgrepOf } from "./programs.ts";
import type { Target } from "./targets.ts";

export type CompileOptions = {
  outfile: string;
  target: Target;
  /**
   * Source maps in the binary, where traces use them; in the binary and beside it, as `*.map`; or none, which makes the
   * same code smaller.
   */
  maps: "inside" | "beside" | "none";
};

/** The files that a binary is made of, with the bytes of code that each has become. */
export type Modules = ReadonlyMap<string, number>;

/** Compiles the binary, with the same bytes in any directory; returns how much of it each file is. */
export async function compile({ outfile, target, maps }: CompileOptions): Promise<Modules> {
  const { metafile } = await Bun.build({
    entrypoints: ["cmd/main.ts", supervisorWorker],
    plugins: [embedSearch(ripgrepOf(target).path), embedSupervisor(), embedCatalog(), embedMcp(), embedBoss()],
    define: identityOf(target),
    minify: true,
    // Bytecode needs esm, or the build "succeeds" and the binary dies at its first import.meta.
    bytecode: true,
    format: "esm",
    // Commands import what is heavy when they need it; splitting is what keeps that out of the others' start.
    splitting: true,
    sourcemap: maps === "none" ? "none" : "linked",
    metafile: true,
    compile: {
      outfile,
      target: `bun-${target}`,
      executablePath: bunOf(target).path,
      // Nine tenths of a short run is code that runs once and is not worth compiling; cmd/exec.ts ends this.
      jitPolicy: 4,
      // koda starts in directories that others wrote: nothing in them may run in koda or change it.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  if (maps === "inside")
    for (const map of new Bun.Glob("*.map").scanSync(dirname(outfile))) rmSync(join(dirname(outfile), map));
  return modulesOf(metafile);
}

function modulesOf(metafile: Bun.BuildMetafile | undefined): Modules {
  const modules = new Map<string, number>();
  for (const { inputs } of Object.values(metafile?.outputs ?? {}))
    for (const [path, { bytesInOutput }] of Object.entries(inputs))
      if (bytesInOutput > 0) modules.set(path, (modules.get(path) ?? 0) + bytesInOutput);
  return modules;
}
