import type { Policy } from "../../sandbox/policy/policy.ts";
import type { FunctionDefinition } from "./parse.ts";
import type { Spot } from "./spot.ts";
import { exact, type Text } from "./text.ts";

/** The run's policy, as far as it is known, and the directory that a command starts in. */
export type CommandSurroundings = Pick<Policy, "root" | "write" | "home"> &
  Partial<Pick<Policy, "tmp" | "readonly" | "privateTmp" | "show">> & { readonly cwd: string };

/** The shell's state at one point of the script, as far as it is known. */
export type ShellScope = {
  readonly around: CommandSurroundings;
  /** The directories that it may be in; undefined when that is not known. */
  cwds: readonly Spot[] | undefined;
  previousCwds: readonly Spot[] | undefined;
  readonly pushed: (readonly Spot[] | undefined)[];
  /** The values that each variable may hold; one that is not here may hold anything. */
  readonly variables: Map<string, readonly Text[]>;
  readonly functions: Map<string, FunctionDefinition["body"]>;
  readonly aliases: Map<string, string>;
  /** The lines that come in on standard input, if they are known. */
  input: readonly Text[] | undefined;
  /** Set when the shell leaves here, by `break`, `return` or `exit`: it does not come past this point. */
  left: "loop" | "function" | "shell" | undefined;
  /** Shared by all scopes of one script: how much may still be looked at, so that no script takes forever. */
  readonly budget: { nodes: number; depth: number };
};

const mostNodes = 20_000;
/** Scripts in scripts, as `eval` makes them, and programs that run programs. */
const mostDepth = 30;

export function startingScope(around: CommandSurroundings): ShellScope {
  const { cwd, home, tmp } = around;
  const variables = new Map<string, readonly Text[]>([
    ["HOME", [exact(home)]],
    ["PWD", [exact(cwd)]],
  ]);
  if (tmp !== undefined) variables.set("TMPDIR", [exact(tmp)]);
  return {
    around,
    cwds: [{ path: cwd, prefix: cwd, exact: true }],
    previousCwds: undefined,
    pushed: [],
    variables,
    functions: new Map(),
    aliases: new Map(),
    input: undefined,
    left: undefined,
    budget: { nodes: mostNodes, depth: mostDepth },
  };
}

/** Goes one level deeper; undefined when that is too deep. */
export function deeper<T>({ budget }: ShellScope, run: () => T): T | undefined {
  if (budget.depth === 0) return undefined;
  budget.depth--;
  const result = run();
  budget.depth++;
  return result;
}

/** A copy whose changes stay its own: a subshell, or a branch that may not be taken. */
export function forkScope(scope: ShellScope): ShellScope {
  return {
    ...scope,
    left: undefined,
    pushed: [...scope.pushed],
    variables: new Map(scope.variables),
    functions: new Map(scope.functions),
    aliases: new Map(scope.aliases),
  };
}

/** The branches meet: afterwards holds what may hold after any of them. */
export function joinScopes(scope: ShellScope, branches: readonly ShellScope[]): void {
  const arriving = branches.filter(({ left }) => left === undefined);
  const [first, ...others] = arriving;
  if (first === undefined) {
    scope.left = branches[0]?.left;
    return;
  }
  scope.cwds = anyOf(arriving.map(({ cwds }) => cwds));
  scope.previousCwds = anyOf(arriving.map(({ previousCwds }) => previousCwds));

  scope.variables.clear();
  for (const [name, texts] of first.variables) {
    const known = anyOf([texts, ...others.map(({ variables }) => variables.get(name))]);
    if (known !== undefined) scope.variables.set(name, known);
  }
  for (const { functions, aliases } of arriving) {
    for (const [name, body] of functions) scope.functions.set(name, body);
    for (const [name, text] of aliases) scope.aliases.set(name, text);
  }
}

/** A variable that a loop changes again and again may hold too much to follow. */
const mostAlternatives = 32;

function anyOf<T>(alternatives: readonly (readonly T[] | undefined)[]): readonly T[] | undefined {
  const known = new Map<string, T>();
  for (const some of alternatives) {
    if (some === undefined) return undefined;
    for (const one of some) known.set(JSON.stringify(one), one);
  }
  return known.size > mostAlternatives ? undefined : [...known.values()];
}
