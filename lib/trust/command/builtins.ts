import type { Claim } from "../claim.ts";
import { nothing, together, unknownWrite } from "./claims.ts";
import { readOptions } from "./options.ts";
import type { Call, Program } from "./program.ts";
import type { Scope } from "./scope.ts";
import { locate, type Spot } from "./spot.ts";
import { exact, joined, wild, type Text } from "./text.ts";
import { set, setPositional, shiftPositional, steer } from "./variables.ts";

/** Commands of the shell itself: what they change is the scope that the rest of the script runs in. */
export const builtins: Readonly<Record<string, Program>> = {
  cd: changeDirectory,
  chdir: changeDirectory,
  pushd: ({ args, scope }) => {
    const [directory] = readOptions(args).operands;
    if (directory === undefined || /^[+-]\d+$/.test(directory.head)) {
      scope.cwds = undefined;
      return nothing;
    }
    scope.pushed.push(scope.cwds);
    return enter(locate(directory, scope), scope);
  },
  popd: ({ scope }) => enter(scope.pushed.pop(), scope),

  export: declare,
  declare,
  typeset: declare,
  local: declare,
  readonly: declare,
  unset: ({ args, scope }) => {
    const { operands, has } = readOptions(args);
    for (const { head } of operands) {
      if (!has("-f")) scope.variables.delete(head);
      if (!has("-v")) scope.functions.delete(head);
    }
    return nothing;
  },
  set: ({ args, scope }) => {
    const start = args.findIndex(({ head }) => head === "--" || !/^[-+]/.test(head));
    if (start === -1 || args[start - 1]?.head.endsWith("o") === true) return nothing;
    setPositional(args.slice(args[start]?.head === "--" ? start + 1 : start), scope);
    shiftPositional(scope);
    return nothing;
  },
  shift: ({ scope }) => {
    shiftPositional(scope);
    return nothing;
  },
  read: ({ args, scope }) => {
    const [first = exact("REPLY"), ...others] = readOptions(args, { takes: "-a -d -i -n -N -p -t -u" }).operands;
    set(first.head, scope.input, scope);
    for (const { head } of others) scope.variables.delete(head);
    return nothing;
  },
  mapfile: readArray,
  readarray: readArray,
  printf: ({ args, scope }) => {
    const [name] = readOptions(args, { takes: "-v", leading: true }).values("-v");
    if (name !== undefined) scope.variables.delete(name.head);
    return nothing;
  },
  alias: ({ args, scope }) => {
    for (const { head, rest } of readOptions(args).operands) {
      const [, name, text] = /^([^=]+)=(.*)$/s.exec(head) ?? [];
      if (name !== undefined && text !== undefined) scope.aliases.set(name, rest === "none" ? text : `${text} $_`);
    }
    return nothing;
  },
  unalias: ({ args, scope }) => {
    const { operands, has } = readOptions(args);
    if (has("-a")) scope.aliases.clear();
    for (const { head } of operands) scope.aliases.delete(head);
    return nothing;
  },

  eval: ({ args, script }) => script(joined(args)),
  source: () => unknownWrite,
  ".": () => unknownWrite,
  trap: ({ args, script }) => {
    const [action, ...signals] = readOptions(args, { leading: true }).operands;
    return action === undefined || action.head === "-" || signals.length === 0 ? nothing : script(action);
  },
  exec: ({ args, scope, run }) => {
    const line = readOptions(args, { takes: "-a", leading: true }).operands;
    const claim = run(line);
    if (line.length > 0) scope.left = "shell";
    return claim;
  },
  exit: leave("shell"),
  return: leave("function"),
  break: leave("loop"),
  continue: leave("loop"),
};

function changeDirectory({ args, scope }: Call): Claim {
  const [directory] = readOptions(args.filter(({ head }) => head !== "-")).operands;
  const isBack = args.some(({ head, rest }) => head === "-" && rest === "none");
  if (isBack) return enter(scope.previousCwds, scope);
  return enter(locate(directory ?? exact(scope.around.home), scope), scope);
}

function enter(cwds: readonly Spot[] | undefined, scope: Scope): Claim {
  scope.previousCwds = scope.cwds;
  scope.cwds = cwds;
  const paths = cwds?.map(({ path, prefix, exact: isExact }): Text =>
    isExact ? exact(path) : { head: prefix, rest: "tame" },
  );
  set("OLDPWD", scope.variables.get("PWD"), scope);
  set("PWD", paths, scope);
  return nothing;
}

/** `export X=1 Y`: an array comes as one argument for each of its elements. */
function declare({ name, args, scope }: Call): Claim {
  const values = new Map<string, readonly Text[]>();
  const claims: Claim[] = [];
  for (const { head, rest } of readOptions(args).operands) {
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

function readArray({ args, scope }: Call): Claim {
  const { operands, has } = readOptions(args, { takes: "-d -n -O -s -u -C -c" });
  set(operands[0]?.head ?? "MAPFILE", scope.input, scope);
  return has("-C") ? unknownWrite : nothing;
}

function leave(what: NonNullable<Scope["left"]>): Program {
  return ({ scope }) => {
    scope.left = what;
    return nothing;
  };
}
