import { forEachChild, parse, type Command, type Redirection, type SyntaxNode } from "./command/parse.ts";
import type { Claim } from "./claim.ts";
import { deeper, worsen, type Judgement } from "./command/judgement.ts";
import { holdsSubstitution, judgeLine, steers } from "./command/line.ts";
import { judgeWrites, type CommandSurroundings } from "./command/paths.ts";
import {
  expand,
  expandArguments,
  expandValue,
  inputFrom,
  isLiteral,
  printed,
  printedInside,
  withoutGuess,
} from "./command/words.ts";

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
    outside: undefined,
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
  walk(script, input, judgement);
}

/** Comes to every simple command below a node, through lists, loops, functions, subshells and substitutions. */
function walk(node: SyntaxNode, input: string | undefined, judgement: Judgement): void {
  if (judgement.budget-- <= 0) return worsen(judgement, "write");
  const { home } = judgement.around;
  let given = input;
  switch (node.type) {
    case "Pipeline":
      for (const command of node.commands) {
        walk(command, given, judgement);
        given = printed(command, home, given);
      }
      return;
    case "Command":
    case "Redirected":
      given = inputFrom(node.redirects, home) ?? input;
      if (node.type === "Command") judgeCommand(node, given, judgement);
      break;
    case "Redirect":
      judgeRedirection(node, judgement);
      break;
    case "Assignment":
    case "TestCommand":
    case "For":
    case "Select":
      if (changesMeaning(node, home)) worsen(judgement, "write");
      break;
    case "Transform":
      // `${x@P}` runs the substitutions that the variable's value holds.
      if (node.operand.value === "P") worsen(judgement, "write");
      break;
    default:
  }
  forEachChild(node, (child) => walk(child, given, judgement));
}

function judgeCommand({ name, args }: Command, input: string | undefined, judgement: Judgement): void {
  if (name === undefined) return;
  const { home } = judgement.around;
  const fed = args.map((arg) => printedInside(arg, home)).find((text) => text !== undefined);
  judgeLine([...expand(name, home), ...expandArguments(args, home)], fed ?? input, judgement);
}

/** Sets a variable that steers programs, or has quoted text that arithmetic would run when it meets it as an index. */
function changesMeaning(node: SyntaxNode, home: string): boolean {
  if (node.type === "CompoundList") return false;
  if (node.type === "Word") return expand(node, home).some(holdsSubstitution);
  if (node.type === "Assignment" && expandValue(node.value, home).some((text) => steers(`${node.name}=${text}`)))
    return true;
  if ((node.type === "For" || node.type === "Select") && steers(node.name.value)) return true;
  let isFound = false;
  forEachChild(node, (child) => {
    isFound ||= changesMeaning(child, home);
  });
  return isFound;
}

/** Writing to a file, whatever the command is. Bash opens connections for some names, which are in no directory. */
function judgeRedirection(redirection: Extract<Redirection, { type: "Redirect" }>, judgement: Judgement): void {
  const { operator, target } = redirection;
  for (const word of target === undefined ? [] : expand(target, judgement.around.home)) {
    if (/^\/dev\/(tcp|udp)\//.test(word)) worsen(judgement, "remote");
    // `>&2` and `>&-` are about open files; these devices keep nothing.
    if (operator === "<" || operator === "<&" || (operator === ">&" && /^(\d+-?|-)$/.test(word))) continue;
    if (/^\/dev\/(null|zero|full|stdin|stdout|stderr|tty|fd\/\d+)$/.test(word)) continue;
    worsen(judgement, "write");
    judgeWrites([word], judgement);
  }
}
