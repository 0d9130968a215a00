import { type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import { KodaError, unlessRefused } from "../lib/errors.ts";
import { realPaths } from "../lib/files/real.ts";
import type { ExecOptions } from "./options.ts";

type Files = Pick<
  ExecOptions,
  "file" | "image" | "mcpConfig" | "outputSchema" | "replay" | "record" | "outputLastMessage" | "patch"
>;

/** A file that the command line names, with its flag. */
type Named = readonly [flag: string, path: string];

/** Refuses to write a file that is also read, since a failed run removes the file of -o, and to write one twice. */
export function refuseOverwriting(files: Files) {
  const { file, image, mcpConfig, outputSchema, replay, record, outputLastMessage, patch } = files;
  const repeated = { "-i": image, "--mcp-config": mcpConfig };
  const read = [
    ...named({ "-f": file, "--output-schema": outputSchema, "--replay": replay }),
    ...Object.entries(repeated).flatMap(([flag, paths]) => paths.map((path): Named => [flag, path])),
  ];
  const written = named({ "--patch": patch, "-o": outputLastMessage, "--record": record });
  for (const [output, path] of written)
    for (const [input, other] of read)
      if (isSameFile(path, other))
        throw new KodaError(
          "usage",
          `${output} "${path}" would overwrite the file that ${input} reads: use another file`,
        );

  for (const [index, [flag, path]] of written.entries())
    for (const [otherFlag, other] of written.slice(index + 1))
      if (isSameFile(path, other))
        throw new KodaError(
          "usage",
          `${flag} "${path}" and ${otherFlag} "${other}" are the same file: use another one`,
        );
}

function named(files: Readonly<Record<string, string | undefined>>): Named[] {
  return Object.entries(files).flatMap(([flag, path]) => (path === undefined || path === "-" ? [] : [[flag, path]]));
}

function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map(statsOf);
  if (first === undefined || second === undefined) return first === second && realPath(one) === realPath(other);
  return first.isFile() && first.dev === second.dev && first.ino === second.ino;
}

function statsOf(path: string): Stats | undefined {
  return unlessRefused(() => statSync(resolve(path)));
}

function realPath(path: string): string | undefined {
  return realPaths(resolve(path)).at(-1);
}
