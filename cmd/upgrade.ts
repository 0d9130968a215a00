import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../lib/errors.ts";
import { type InstalledProgram, installationOf } from "./installation.ts";
import { printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";

/** `koda upgrade`: prints a command and runs nothing. Exit 1 where there is no such command. */
export async function upgrade({ json }: CommandOptions<"upgrade">): Promise<number> {
  const at = thisProgram();
  const { way, about, command } = installationOf(at);
  if (json) await print(asJson({ installed: way, path: at.path, command: command ?? null }));
  else {
    await printNote(`koda is ${about}`);
    if (command?.includes("$KODA_DOWNLOAD_BASE"))
      await printNote("Set KODA_DOWNLOAD_BASE to the address that you got koda from");
    if (command !== undefined) await print(`${command}\n`);
  }
  return command === undefined ? 1 : 0;
}

function thisProgram(): InstalledProgram {
  const path = readlinkSync("/proc/self/exe");
  const debianPackage = debianPackageOf(path);
  const downloadBase = process.env.KODA_DOWNLOAD_BASE?.replace(/\/+$/, "");
  return {
    path,
    debianArch: process.arch === "x64" ? "amd64" : process.arch,
    ...(debianPackage !== undefined && { debianPackage }),
    list: (directory) => unlessRefused(() => readdirSync(directory)) ?? [],
    isContainer: existsSync("/.dockerenv") || existsSync("/run/.containerenv"),
    ...(downloadBase && { downloadBase }),
  };
}

/** The lists of dpkg's packages, read without dpkg. Those of other architectures have one in their names. */
function debianPackageOf(path: string): string | undefined {
  const directory = "/var/lib/dpkg/info";
  const lists = (unlessRefused(() => readdirSync(directory)) ?? []).filter((name) => /^koda\b.*\.list$/.test(name));
  const owner = lists.find((name) => {
    const files = unlessRefused(() => readFileSync(join(directory, name), "utf8")) ?? "";
    return files.split("\n").includes(path);
  });
  return owner?.replace(/(?::\w+)?\.list$/, "");
}
