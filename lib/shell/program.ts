import { existsSync, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { KodaError, unlessRefused } from "../errors.ts";
import { isExecutable, isWritable } from "../files/program.ts";
import type { Command } from "../sandbox/backend.ts";

/** A line for the shell to interpret, or a program with its arguments, where nothing is interpreted. */
export type CommandLine = string | ProgramLine;
export type ProgramLine = readonly [program: string, ...args: string[]];

/** The kernel's limit for one argument, and the shell gets the whole line as one. */
const longestArgument = 128 * 1024 - 1;

const usualPath = "/usr/local/bin:/usr/bin:/bin";

/** The surroundings in which names are looked up. A sandbox may hide places on the PATH from a command. */
type ProgramLookup = Pick<Command, "cwd" | "env"> & {
  isSeen: (path: string) => boolean;
  /** Directories that commands may write to. */
  writable: readonly string[];
};

/** The command with every name looked up. Throws a KodaError that says why it cannot be started. */
export function commandOf(line: CommandLine, lookup: ProgramLookup): Command {
  const { cwd, env } = lookup;
  if (!isDirectory(cwd)) throw cannotStart(line, `the directory "${cwd}" does not exist`);
  const argv = typeof line === "string" ? shellArguments(line, lookup) : programArguments(line, lookup);
  if (argv.some((argument) => argument.includes("\0"))) throw cannotStart(line, "it contains a NUL character");
  const longest = Math.max(...argv.map((argument) => Buffer.byteLength(argument)));
  if (longest > longestArgument) {
    const limit = `the system takes at most ${longestArgument} bytes`;
    throw cannotStart(line, `it is ${longest} bytes long and ${limit}: write it to a file and run that`);
  }
  return { argv, cwd, env };
}

/** A shell's exit code: 127 when there is no such program, 126 when there is one and it cannot be started. */
type ShellExit = 126 | 127;

export class CannotStart extends KodaError {
  readonly shellExit: ShellExit;

  constructor(message: string, { shellExit = 126, cause }: { shellExit?: ShellExit; cause?: unknown } = {}) {
    super("config", message, { cause });
    this.shellExit = shellExit;
  }
}

/** Also for reasons that only the attempt shows. */
export function cannotStart(
  line: CommandLine,
  reason: string,
  details?: { shellExit?: ShellExit; cause?: unknown },
): CannotStart {
  const text = typeof line === "string" ? line : line.join(" ");
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return new CannotStart(`Cannot run "${shown}": ${reason}`, details);
}

/** A shell of the project's, as in `node_modules/.bin`, would run in the place of every command that was allowed. */
function shellArguments(line: string, lookup: ProgramLookup): Command["argv"] {
  const shells = ["bash", "sh"].flatMap((name) => placesOf(name, lookup).filter(isExecutable));
  const shell = shells.find((path) => !isWritable(path, lookup.writable)) ?? shells[0] ?? "/bin/sh";
  // A line that begins with a dash would be taken for the shell's options.
  return [shell, "-c", /^[-+]/.test(line) ? ` ${line}` : line];
}

function programArguments([program, ...args]: ProgramLine, lookup: ProgramLookup): Command["argv"] {
  const line = [program, ...args] as const;
  const places = program.includes("/") ? [resolve(lookup.cwd, program)] : placesOf(program, lookup);
  const path = places.find(isExecutable);
  if (path !== undefined) return [path, ...args];
  const other = places.find((place) => existsSync(place));
  if (other !== undefined) throw cannotStart(line, `"${other}" is not an executable file`);
  const where = program.includes("/") ? "" : " on the PATH";
  throw cannotStart(line, `there is no program "${program}"${where}`, { shellExit: 127 });
}

/** Only absolute directories of the PATH count: `.` in it would run what the project brought along. */
function placesOf(program: string, { env: { PATH: path = usualPath }, isSeen }: ProgramLookup): string[] {
  const directories = path.split(":").filter((directory) => isAbsolute(directory));
  return directories.map((directory) => join(directory, program)).filter(isSeen);
}

function isDirectory(path: string): boolean {
  return unlessRefused(() => statSync(path).isDirectory()) ?? false;
}
