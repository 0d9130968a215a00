import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Commit } from "./commit.ts";
import { compile } from "./compile.ts";
import type { Component } from "./component.ts";
import { componentsOf } from "./components.ts";
import { filesBesideBinary } from "./files.ts";
import { sha256 } from "./sha256.ts";
import type { ArchiveFile } from "./tar.ts";
import type { Target } from "./targets.ts";

/** All that a target's archives and packages consist of. */
export type TargetFiles = {
  target: Target;
  /** By their paths below a prefix such as `/usr`, the binary first. */
  files: readonly ArchiveFile[];
  /** Of the binary. */
  sha256: string;
  components: readonly Component[];
  /** The binary's source maps, by their names in it. */
  maps: readonly ArchiveFile[];
};

export async function targetFiles(target: Target, commit: Commit): Promise<TargetFiles> {
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
    const files = [program, ...filesBesideBinary(components, commit)];
    return { target, files, sha256: sha256(binary), components, maps };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
