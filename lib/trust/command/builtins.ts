import { type Claim, noEffect } from "../claim.ts";
import { together, unknownWrite } from "./claims.ts";
import { parseOptions } from "./options.ts";
import type { ProgramCall, ProgramRule } from "./program.ts";
import type { ShellScope } from "./scope.ts";
import { spotsOf, type Spot } from "./spot.ts";
import { exact, joined, wild, type Text } from "./text.ts";
import { set, setPositional, shiftPositional, steer } from "./variables.ts";

/** Commands of the shell itself: what they change is the scope that the rest of the script runs in. */
export const builtins: Readonly<Record<string, ProgramRule>> = {
  cd: changeDirectory,
  chdir: changeDirectory,
  pushd: ({ args, scope }) => {
    const [directory] = parseOptions(args).operands;
    if (directory === undefined || /^[+-]\d+$/.test(directory.head)) {
      scope.cwds = undefined;
      return noEffect;
    }
    scope.pushed.push(scope.cwds);
    return enter(spotsOf(directory, scope), scope);
  },
  popd: ({ scope }) => enter(scope.pushed.pop(), scope),

  export: declare,
  declare,
  typeset: declare,
  local: declare,
  readonly: declare,
  unset: ({ args, scope }) => {
    const { operands, has } = parseOptions(args);
    for (const { head } of operands) {
      if (!has("-f")) scope.variables.delete(head);
      if (!has("-v")) scope.functions.delete(head);
    }
    return noEffect;
  },
  set: ({ args, scope }) => {
    const start = args.findIndex(({ head }) => head === "--" || !/^[-+]/.test(head));
    if (start === -1 || args[start - 1]?.head.endsWith("o") === true) return noEffect;
    setPositional(args.slice(args[start]?.head === "--" ? start + 1 : start), scope);
    shiftPositional(scope);
    return noEffect;
  },
  shift: ({ scope }) => {
    shiftPositional(scope);
    return noEffect;
  },
  read: ({ args, scope }) => {
    const [first = exact("REPLY"), ...others] = parseOptions(args, { takes: "-a -d -i -n -N -p -t -u" }).operands;
    set(first.head, scope.input, scope);
    for (const { head } of others) scope.variables.delete(head);
    return noEffect;
  },
  mapfile: readArray,
  readarray: readArray,
  printf: ({ args, scope }) => {
    const [name] = parseOptions(args, { takes: "-v", leading: true }).values("-v");
    if (name !== undefined) scope.variables.delete(name.head);
    return noEffect;
  },
  alias: ({ args, scope }) => {
    for (const { head, rest } of parseOptions(args).operands) {
      const [, name, text] = /^([^=]+)=(.*)$/s.exec(head) ?? [];
      if (name !== undefined && text !== undefined) scope.aliases.set(name, rest === "none" ? text : `${text} $_`);
    }
    return noEffect;
  },
  unalias: ({ args, scope }) => {
    const { operands, has } = parseOptions(args);
    if (has("-a")) scope.aliases.clear();
    for (const { head } of operands) scope.aliases.delete(head);
    return noEffect;
  },

  eval: ({ args, script }) => script(joined(args)),
  source: () => unknownWrite,
  ".": () => unknownWrite,
  trap: ({ args, script }) => {
    const [action, ...signals] = parseOptions(args, { leading: true }).operands;
    return action === undefined || action.head === "-" || signals.length === 0 ? noEffect : script(action);
  },
  exec: ({ args, scope, run }) => {
    const line = parseOptions(args, { takes: "-a", leading: true }).operands;
    const claim = run(line);
    if (line.length > 0) scope.left = "shell";
    return claim;
  },
  exit: leave("shell"),
  return: leave("function"),
  break: leave("loop"),
  continue: leave("loop"),
};

function changeDirectory({ args, scope }: ProgramCall): Claim {
  const [directory] = parseOptions(args.filter(({ head }) => head !== "-")).operands;
  const isBack = args.some(({ head, rest }) => head === "-" && rest === "none");
  if (isBack) return enter(scope.previousCwds, scope);
  return enter(spotsOf(directory ?? exact(scope.around.home), scope), scope);
}

function enter(cwds: readonly Spot[] | undefined, scope: ShellScope): Claim {
  scope.previousCwds = scope.cwds;
  scope.cwds = cwds;
  const paths = cwds?.map(({ path, prefix, exact: isExact }): Text =>
    isExact ? exact(path) : { head: prefix, rest: "tame" },
  );
  set("OLDPWD", scope.variables.get("PWD"), scope);
  set("PWD", paths, scope);
  return noEffect;
}

/** `export X=1 Y`: an array comes as one argument for each of its elements. */
function declare({ name, args, scope }: ProgramCall): Claim {
  const values = new Map<string, readonly Text[]>();
  const claims: Claim[] = [];
  for (const { head, rest } of parseOptions(args).operands) {
    const [, variable, adds, value] = /^([A-Za-z_]\w*)(?:\[[^\]]*\])?(\+)?=(.*)$/s.exec(head) ?? [];
    if (variable === undefined || value === undefined) {
      if (name === "local") scope.variables.delete(head);
      continue;
    }
    const text = adds === undefined ? { head: value, rest } : wild;
    values.set(variable, [...(values.get(variable) ?? []), text]);
    claims.push(steer(variable, { head: value, rest }));
  }
  for (const [variable, texts] of values) scope.variables.set(variable, texts);
  return together(claims);
}

function readArray({ args, scope }: ProgramCall): Claim {
  const { operands, has } = parseOptions(args, { takes: "-d -n -O -s -u -C -c" });
  set(operands[0]?.head ?? "MAPFILE", scope.input, scope);
  return has("-C") ? unknownWrite : noEffect;
}

function leave(what: NonNullable<ShellScope["left"]>): ProgramRule {
  return ({ scope }) => {
    scope.left = what;
    return noEffect;
  };
}
