import { forEachChild, parse, type Redirection, type SyntaxNode } from "./command/parse.ts";
import type { Claim } from "./claim.ts";
import { deeper, worsen, type Judgement } from "./command/judgement.ts";
import { holdsSubstitution, judgeLine, steers } from "./command/line.ts";
import { judgeWrites, type CommandSurroundings } from "./command/paths.ts";
import { keepsNothing } from "./command/table.ts";
import { expand, expandArgument, standardInput, isLiteral, printed, withoutGuess, wordsIn } from "./command/words.ts";

/** Linux takes no longer argument, so a longer command cannot even be started. */
const longest = 128 * 1024;

/**
 * Judges what a shell command would do, from its text, by a real parse of Bash: its simple commands, at any depth of
 * quotes, substitutions and programs that run others, are looked up in a table, and the worst counts. It decides what
 * may run without being asked and what may run at the same time: a convenience, never a boundary; the sandbox stops a
 * program that does more than its name says. Only what is literal is judged: a command reads only if every part of it
 * is known to read, and what is not known is no claim to destroy anything.
 */
export function classifyCommand(command: string, around: CommandSurroundings): Claim {
  const judgement: Judgement = {
    around,
    effect: "read",
    places: [around.root],
    aliases: new Map(),
    budget: 50_000,
    depth: 30,
    read: (text, input) => deeper(judgement, () => readScript(text, input, judgement)),
  };
  if (command.length > longest) worsen(judgement, "write");
  else judgement.read(command);
  const { effect, reason, outside } = judgement;
  const writes = effect === "read" ? [] : "unknown";
  return { effect, writes, ...(outside !== undefined && { outside }), ...(reason !== undefined && { reason }) };
}

function readScript(text: string, input: string | undefined, judgement: Judgement): void {
  const script = parse(withoutGuess(text));
  // The shell runs what stands before a mistake, and may read the rest in another way than the parser did.
  const isMistaken = script.errors !== undefined && script.errors.length > 0;
  if (isMistaken || !isLiteral(text)) worsen(judgement, "write");
  walk(script, judgement, input);
}

/** Comes to every simple command below a node, at any depth; words may be values, which arithmetic evaluates. */
function walk(node: SyntaxNode, judgement: Judgement, input?: string, areValues = false): void {
  if (judgement.budget-- <= 0) return worsen(judgement, "write");
  const { home } = judgement.around;
  let given = input;
  let areInside = areValues && node.type !== "CompoundList" && node.type !== "Word";
  switch (node.type) {
    case "Pipeline":
      for (const command of node.commands) {
        walk(command, judgement, given, areInside);
        given = printed(command, home, given);
      }
      return;
    case "Command":
    case "Redirected":
      given = standardInput(node, home) ?? input;
      if (node.type === "Command") judgeLine(wordsIn(node, home), given, judgement);
      break;
    case "Redirect":
      judgeRedirection(node, judgement);
      break;
    case "Assignment":
    case "TestCommand":
    case "For":
    case "Select":
      areInside = true;
      if (node.type === "Assignment" && expandArgument(node, home).some(steers)) worsen(judgement, "write");
      if ((node.type === "For" || node.type === "Select") && steers(node.name.value)) worsen(judgement, "write");
      break;
    case "Word":
      // Arithmetic runs the substitutions in a quoted text when it meets that as an index.
      if (areValues && expand(node, home).some(holdsSubstitution)) worsen(judgement, "write");
      break;
    case "Transform":
      // `${x@P}` runs the substitutions that the variable's value holds.
      if (node.operand.value === "P") worsen(judgement, "write");
      break;
    default:
  }
  forEachChild(node, (child) => walk(child, judgement, given, areInside));
}

/** Writing to a file, whatever the command is. Bash opens connections for some names, which are in no directory. */
function judgeRedirection(redirection: Extract<Redirection, { type: "Redirect" }>, judgement: Judgement): void {
  const { operator, target } = redirection;
  for (const word of target === undefined ? [] : expand(target, judgement.around.home)) {
    if (/^\/dev\/(tcp|udp)\//.test(word)) worsen(judgement, "remote");
    // `>&2` and `>&-` are about open files.
    if (operator === "<" || operator === "<&" || (operator === ">&" && /^(\d+-?|-)$/.test(word))) continue;
    if (keepsNothing.test(word)) continue;
    worsen(judgement, "write");
    judgeWrites([word], judgement);
  }
}
