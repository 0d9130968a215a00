import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "./compile.ts";
import type { Component } from "./component.ts";
import { componentsOf } from "./components.ts";
import { filesBesideBinary } from "./files.ts";
import type { ArchiveFile } from "./tar.ts";
import type { Target } from "./targets.ts";

/** All that a target's archives and packages consist of. */
export type TargetFiles = {
  target: Target;
  /** By their paths below a prefix such as `/usr`, the binary first. */
  files: readonly ArchiveFile[];
  binary: Uint8Array;
  components: readonly Component[];
  /** The binary's source maps, by their names in it. */
  maps: readonly ArchiveFile[];
};

export async function targetFiles(target: Target): Promise<TargetFiles> {
  const scratch = mkdtempSync(join(tmpdir(), "koda-release-"));
  try {
    // The binary holds its own name, so that both have the same.
    const outfile = join(scratch, "koda");
    await compile({ outfile, target, maps: "beside" });
    const maps = [...new Bun.Glob("**/*.map").scanSync(scratch)].map((path) => ({
      path,
      content: readFileSync(join(scratch, path)),
    }));
    const modules = await compile({ outfile, target, maps: "none" });
    const [binary, components] = [readFileSync(outfile), componentsOf([...modules.keys()], target)];
    const program = { path: "bin/koda", content: binary, isProgram: true };
    return { target, files: [program, ...filesBesideBinary(components)], binary, components, maps };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
