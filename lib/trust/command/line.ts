import { posix } from "node:path";
import { shellQuoted } from "../../quote.ts";
import { deeper, worsen, type Judgement } from "./judgement.ts";
import { lineOf, matchIn, ruleOf, startsOf, type Invocation } from "./matcher.ts";
import { judgePaths } from "./paths.ts";
import { harmlessSetting, shells, steeringVariable } from "./table.ts";
import { anything, fields, isLiteral, something, withoutGuess } from "./words.ts";

type Words = readonly string[];
type Inside = { line: Invocation; args: Words; input: string | undefined; judgement: Judgement };

/** Judges one command: the program, its arguments, and what comes in on its standard input as far as that is known. */
export function judgeLine(words: Words, input: string | undefined, judgement: Judgement): void {
  // `$SUDO rm x`: a variable may be empty, or hold a wrapper. After `env` there may be settings.
  const isBefore = (word = "") => word === anything || /^\w+=/.test(word);
  let start = 0;
  for (; isBefore(words[start]); start++)
    if (words[start] === anything || steers(words[start] ?? "")) worsen(judgement, "write");
  const [first, ...args] = words.slice(start);
  if (first === undefined) return;
  // `./ls` is any program, and `/bin/ls` is `ls`.
  const isSystems = isLiteral(first) && /^((\/usr|\/usr\/local|\/opt\/homebrew)?\/s?bin\/)?[^/@]*$/.test(first);
  if (!isSystems) worsen(judgement, "write");
  // `npx cowsay@1` runs cowsay.
  const line = lineOf(posix.basename(withoutGuess(first)).replace(/(?<=.)@.*$/s, ""), args);
  deeper(judgement, () => judgeProgram({ line, args, input, judgement }));
}

function judgeProgram(inside: Inside): void {
  const { line, input, judgement } = inside;
  // The client of a database reads from its input what it may also be given as an argument.
  const fed = { ...line, operands: [...line.operands, { text: input ?? "", at: Infinity, loose: true }] };
  for (const each of input === undefined ? [line] : [line, fed]) {
    const match = matchIn("destructive", each);
    if (match !== undefined) worsen(judgement, "destructive", ruleOf(each, match));
  }
  if (!judgement.around.confined) judgePaths(line, judgement);
  for (const script of line.scripts) judgement.read(script);
  expandAliases(inside);
  if (!isShell(inside) && !runsOthers(inside)) judgeItself(inside);
}

function judgeItself({ line, args, judgement }: Inside): void {
  if (matchIn("remote", line) !== undefined) return worsen(judgement, "remote");
  const { sets } = matchIn("reading", line)?.row ?? {};
  if (sets === false || (sets === true && !args.some((arg) => steers(arg) || holdsSubstitution(arg)))) return;
  // Every program may do what it wants with `--help`, but those that are installed do what everyone expects.
  if (args.length !== 1 || !/^(--version|--help|-V)$/.test(args[0] ?? "")) worsen(judgement, "write");
}

export const holdsSubstitution = (text: string): boolean => /\$\(|`/.test(text);

/** Does an assignment, or a variable of this name, change what harmless programs do? */
export function steers(assignment: string): boolean {
  const isSteering = steeringVariable.test(assignment.replace(/=.*/s, ""));
  return isSteering && !(isLiteral(assignment) && harmlessSetting.test(assignment));
}

/** `alias p='git push'` and `git -c alias.p='push --force' p`. */
function expandAliases({ line: { program, operands, options }, args, input, judgement }: Inside): void {
  const again = (text: string, rest: Words) => judgement.read([text, ...rest.map(shellQuoted)].join(" "), input);
  const alias = judgement.aliases.get(program);
  if (alias !== undefined) again(alias, args);
  for (const { text } of program === "alias" ? operands : []) {
    const [name = "", value] = text.split(/=(.*)/s);
    if (value !== undefined) judgement.aliases.set(name, value);
  }
  const rest = args.slice((operands[0]?.at ?? 0) + 1);
  for (const { value = "" } of options) {
    const [, bang, text] = /^alias\.[^=]+=(!?)(.*)$/is.exec(value) ?? [];
    if (text !== undefined) again(bang === "!" ? text : `git ${text}`, rest);
  }
}

/** Does a shell run a text among its arguments? It may also read one from its input. */
function isShell({ line: { program, operands, options, unclear }, input, judgement }: Inside): boolean {
  if (!shells.has(program)) return false;
  if (unclear) worsen(judgement, "write");
  const [script] = operands;
  const isText = script !== undefined && options.some(({ name, at }) => name === "-c" && at < script.at);
  // Of what is not a script's name too: `source /dev/stdin`, `sh <(…)`.
  if (isText) judgement.read(script.text, input);
  else judgement.read(input ?? "");
  return isText;
}

/** Judges the command that the arguments have; false when the program is one of those that run none. */
function runsOthers({ line, args, input, judgement }: Inside): boolean {
  if (/^(find|fd|fdfind)$/.test(line.program)) {
    for (const command of commandsOf(args, line)) judgeLine(command, undefined, judgement);
    return false;
  }
  const match = matchIn("running", line);
  if (match === undefined) return false;
  const { effect, isText } = match.row;
  worsen(judgement, effect);
  const { outside } = judgement;
  const commands = startsOf(line, match).map((at) => args.slice(at));
  if (isText && commands.length === 0) judgement.read(input ?? "");
  for (const words of commands) {
    if (isText) judgement.read(words.filter((word) => !word.startsWith(":::")).join(" "), input);
    else if (line.program !== "xargs") judgeLine(words, input, judgement);
    else for (const full of completed(words, line, input)) judgeLine(full, undefined, judgement);
  }
  // Paths mean nothing on another machine.
  if (isText && effect === "remote") judgement.outside = outside;
  return true;
}

/** Commands that xargs runs: with any names, and with those that it is known to read. */
function completed(command: Words, { options }: Invocation, input: string | undefined): readonly Words[] {
  const placeholder = options.find(({ name }) => name === "-I" || name === "--replace")?.value ?? "{}";
  const unknown = filled(command, placeholder, anything);
  return input === undefined ? [unknown] : [unknown, filled(command, placeholder, input.trim(), fields(input))];
}

/** A command with a name wherever the placeholder is, or else with names at its end. */
function filled(command: Words, placeholder: string, name: string, names: Words = [name]): Words {
  if (!command.some((word) => word.includes(placeholder))) return [...command, ...names];
  return command.map((word) => word.replaceAll(placeholder, () => name));
}

/** The commands in the arguments of find and fd, with some file below the directory that it starts in. */
function commandsOf(args: Words, { program, operands }: Invocation): readonly Words[] {
  const isFind = program === "find";
  const begins = isFind ? /^-(exec|execdir|ok|okdir)$/ : /^(-[a-zA-Z]*[xX]|--exec|--exec-batch)$/;
  const [start] = operands;
  const file = isFind && start?.at === 0 ? `${start.text}/${something}` : `./${something}`;
  return args.flatMap((arg, at) => {
    if (!begins.test(arg)) return [];
    const rest = [...args.slice(at + 1), ";"];
    const end = rest.findIndex((word) => word === ";" || (word === "+" && isFind));
    return [filled(rest.slice(0, end), "{}", file)];
  });
}
