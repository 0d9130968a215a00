import type { Claim } from "./claim.ts";
import { unknownWrite } from "./command/claims.ts";
import { startingScope, type CommandSurroundings } from "./command/scope.ts";
import { walkSource } from "./command/walk.ts";

/** Linux takes no longer argument, so a longer command cannot even be started. */
const longest = 128 * 1024;

/**
 * Judges what a shell command would do, from its text, by a real parse of Bash. It decides what may run without being
 * asked and what may run at the same time: a convenience, never a boundary. A program can do more than its name and
 * arguments say, and the sandbox is what stops it. So where the text leaves something open the answer is the careful
 * one that people can still work with: a command reads only if every part of it is known to read, and whatever is not
 * known writes somewhere below the directory that it runs in.
 */
export function classifyCommand(command: string, surroundings: CommandSurroundings): Claim {
  if (command.length > longest) return unknownWrite;
  return walkSource(command, startingScope(surroundings));
}
