import { statSync } from "node:fs";
import { resolve } from "node:path";
import { KodaError, unlessRefused } from "../lib/errors.ts";
import type { ExecOptions } from "./options.ts";

type Files = Pick<ExecOptions, "file" | "image" | "outputSchema" | "replay" | "record" | "outputLastMessage">;

/** Refuses to write a file that is also read: a failed run removes the file of -o. */
export function refuseOverwriting({ file, image, outputSchema, replay, record, outputLastMessage }: Files): void {
  const inputs = { "-f": file, "--output-schema": outputSchema, "--replay": replay };
  const read = [...Object.entries(inputs), ...image.map((path) => ["-i", path] as const)];
  for (const [output, written] of Object.entries({ "-o": outputLastMessage, "--record": record }))
    for (const [input, path] of read)
      if (written !== undefined && path !== undefined && isSameFile(written, path))
        throw new KodaError(
          "usage",
          `${output} "${written}" would overwrite the file that ${input} reads: use another file`,
        );
}

function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((path) => unlessRefused(() => statSync(resolve(path))));
  return first?.isFile() === true && first.dev === second?.dev && first.ino === second.ino;
}
