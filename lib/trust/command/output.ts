import type { Command, ParsedScript, Redirection, SyntaxNode, Word } from "./parse.ts";
import { parseOptions } from "./options.ts";
import type { ShellScope } from "./scope.ts";
import { spotsOf } from "./spot.ts";
import { exact, joined, tame, wild, type Text } from "./text.ts";

type Expand = (word: Word, scope: ShellScope) => readonly Text[];

/**
 * The lines that a script prints, where its last command is one whose output can be foreseen: enough to follow
 * `$(pwd)`, `$(mktemp -d)`, `rm $(git ls-files …)` and `find … | xargs rm`. Undefined when it may be anything.
 */
export function outputOf(script: ParsedScript, scope: ShellScope, expand: Expand): readonly Text[] | undefined {
  const [statement, ...others] = script.commands;
  if (statement === undefined || others.length > 0) return undefined;
  return linesOf(statement.command, scope, expand);
}

/** The lines that redirections bring in, where they are known. */
export function inputFrom(
  redirections: readonly Redirection[],
  scope: ShellScope,
  expand: Expand,
): readonly Text[] | undefined {
  const last = redirections.findLast(({ operator }) => operator.startsWith("<"));
  if (last === undefined) return undefined;
  if (last.type === "HereString") return last.target && expand(last.target, scope);
  if (last.type === "HereDoc") return last.body.parts === undefined ? [exact(last.body.text)] : undefined;
  const [part] = last.target?.parts ?? [];
  const isProcess = part?.type === "ProcessSubstitution" && part.script !== undefined;
  return isProcess ? outputOf(part.script, scope, expand) : undefined;
}

export function linesOf(node: SyntaxNode, scope: ShellScope, expand: Expand): readonly Text[] | undefined {
  if (node.type === "Command") return printed(node, scope, expand);
  if (node.type !== "Pipeline") return undefined;
  return node.commands.reduce<readonly Text[] | undefined>(
    (input, command) => linesOf(command, { ...scope, input }, expand),
    scope.input,
  );
}

function printed(command: Command, scope: ShellScope, expand: Expand): readonly Text[] | undefined {
  if (command.name === undefined) return undefined;
  const [name, ...others] = expand(command.name, scope);
  if (name === undefined || name.rest !== "none" || others.length > 0) return undefined;
  if (scope.functions.has(name.head) || scope.aliases.has(name.head)) return undefined;
  const args = command.args.flatMap((arg) => (arg.type === "Word" ? expand(arg, scope) : [exact(arg.text)]));
  const input = inputFrom(command.redirects, scope, expand) ?? scope.input;
  return foresee(name.head, args, { ...scope, input });
}

/** Programs that print a number, a hash, a date, a name: never a path of its own. */
const plain: ReadonlySet<string> = new Set(
  "arch b2sum basename cksum date expr hostname id md5sum nproc seq sha1sum sha256sum uname uuidgen wc whoami".split(
    " ",
  ),
);

/** Programs that print some of the lines they read. */
const filters: ReadonlySet<string> = new Set("cat grep egrep head sort tac tail uniq".split(" "));

function foresee(program: string, args: readonly Text[], scope: ShellScope): readonly Text[] | undefined {
  if (plain.has(program)) return [tame("")];
  if (filters.has(program) && scope.input !== undefined) return scope.input;
  const { operands, ...options } = parseOptions(args, { takes: takes[program] ?? "" });
  switch (program) {
    case "pwd":
      return known(exact("."), scope);
    case "mktemp":
      return temporaryFile(operands[0], options.values("-p", "--tmpdir")[0], scope);
    case "echo":
      return [joined(args.filter(({ head }) => !/^-[neE]+$/.test(head)))];
    case "printf":
      return format(args);
    case "dirname":
      return operands.flatMap(
        (path) => (path.rest === "none" ? known(exact(`${path.head}/..`), scope) : [path]) ?? [wild],
      );
    case "realpath":
    case "readlink":
      return operands.flatMap((path) => known(path, scope) ?? [wild]);
    case "git":
      // A project is nearly always the top of its repository.
      return options.has("--show-toplevel") ? [exact(scope.around.root)] : [tame("")];
    case "ls":
      return [tame(""), ...operands];
    case "find":
      return startsOf(args).map(inDirectory);
    case "grep":
    case "egrep":
    case "rg":
    case "fd":
      return [tame(""), ...operands.slice(1).map(inDirectory)];
    default:
      return undefined;
  }
}

const takes: Readonly<Record<string, string>> = {
  mktemp: "-p --suffix",
  git: "-C -c",
  grep: "-e -f -A -B -C -m --include --exclude --exclude-dir",
  egrep: "-e -f -A -B -C -m --include --exclude --exclude-dir",
  rg: "-e -f -g -t -T -A -B -C -m --glob --type",
  fd: "-e -E -t -d --extension --exclude --type",
};

function known(path: Text, scope: ShellScope): readonly Text[] | undefined {
  return spotsOf(path, scope)?.map(({ path, prefix, exact: isExact }) => (isExact ? exact(path) : tame(prefix)));
}

function temporaryFile(template: Text | undefined, directory: Text | undefined, scope: ShellScope) {
  const name = template?.head.replace(/X{3,}.*$/s, "") ?? "";
  if (directory !== undefined) return [tame(`${directory.head}/${name}`)];
  if (name.includes("/")) return [tame(name)];
  return scope.around.tmp === undefined ? undefined : [tame(`${scope.around.tmp}/${name}`)];
}

function format([pattern, ...args]: readonly Text[]): readonly Text[] | undefined {
  if (pattern === undefined || pattern.rest !== "none" || pattern.head.startsWith("-")) return undefined;
  const bare = pattern.head.replace(/\\n$/, "");
  if (bare === "%s") return args;
  return /[%\\]/.test(bare) ? undefined : [exact(bare)];
}

/** The directories that `find` starts in: its first arguments, up to the expression. */
export function startsOf(args: readonly Text[]): readonly Text[] {
  const options = args.findIndex(({ head }) => !/^-([HLP]+|D|O\d?)$/.test(head));
  const rest = options === -1 ? [] : args.slice(options);
  const end = rest.findIndex(({ head }) => /^[-(!,]/.test(head));
  const starts = end === -1 ? rest : rest.slice(0, end);
  return starts.length === 0 ? [exact(".")] : starts;
}

/** Some name in the directory: what `find` and its like print, and do things to. */
export function inDirectory(directory: Text): Text {
  return directory.rest === "none" ? tame(directory.head.replace(/\/*$/, "/")) : directory;
}
