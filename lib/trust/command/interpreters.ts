import type { Claim } from "../claim.ts";
import { remote, together, unknownWrite } from "./claims.ts";
import { parseOptions } from "./options.ts";
import type { ProgramCall, ProgramRule } from "./program.ts";
import { forkScope, type ShellScope } from "./scope.ts";
import { unknownProgram } from "./targets.ts";
import { exact, joined, type Text } from "./text.ts";
import { setPositional, shiftPositional } from "./variables.ts";

/** Programs that run a script, or another program by its name, here or on another machine. */
export const interpreters: Readonly<Record<string, ProgramRule>> = {
  sh: shell,
  ash: shell,
  bash: shell,
  dash: shell,
  ksh: shell,
  rbash: shell,
  zsh: shell,

  ssh: ({ args, scope, script }) => {
    const { operands } = parseOptions(args, {
      takes: "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w",
      leading: true,
    });
    return onAnotherMachine(script(joined(operands.slice(1)), elsewhere(scope)));
  },

  python: pythonModule,
  python3: pythonModule,
  py: pythonModule,

  npx: runner("-p --package -c --call -w --workspace"),
  bunx: runner("-p --package"),
  pnpx: runner("--package"),
  uvx: runner("--from --with -p --python --index"),
  pipx: ({ args, run }) => {
    const { operands } = parseOptions(args, { takes: "--spec --pip-args", leading: true });
    return together([remote, ...(operands[0]?.head === "run" ? [run(operands.slice(1))] : [])]);
  },
};

function shell(call: ProgramCall): Claim {
  const { args, scope, script } = call;
  const { operands, has, unclear } = parseOptions(args, { takes: "-o -O +o +O --rcfile --init-file", leading: true });
  const inner = { ...forkScope(scope), input: undefined };
  const [source, , ...positional] = operands;
  if (has("-c")) {
    setPositional(positional, inner);
    shiftPositional(inner);
    return source === undefined ? unknownWrite : together([script(source, inner), ...(unclear ? [unknownWrite] : [])]);
  }
  if (has("--version", "--help") && operands.length === 0) return together([]);
  // A script on standard input, if anybody knows it.
  const fed = operands.length === 0 ? scope.input : undefined;
  return fed === undefined ? unknownProgram(scope) : together(fed.map((text) => script(text, inner)));
}

/** Paths mean nothing there; what nothing brings back is as lost as here. */
function onAnotherMachine({ reason }: Claim): Claim {
  return reason === undefined ? remote : { ...remote, effect: "destructive", reason };
}

function elsewhere(scope: ShellScope): ShellScope {
  return { ...forkScope(scope), cwds: undefined, input: undefined };
}

/** `python -m pip install` is `pip install`; whatever else Python runs is not known. */
function pythonModule({ args, scope, run }: ProgramCall): Claim {
  const at = args.findIndex(({ head }) => head === "-m");
  const isVersion = args.length === 1 && /^(-V|--version)$/.test(args[0]?.head ?? "");
  if (isVersion) return together([]);
  const unknown = unknownProgram(scope);
  const isModule = at !== -1 && args.slice(0, at).every(({ head }) => head.startsWith("-"));
  return isModule ? together([unknown, run(args.slice(at + 1))]) : unknown;
}

/** It fetches the program first when it has to. */
function runner(takes: string): ProgramRule {
  return ({ args, scope, run, script }) => {
    const { operands, values } = parseOptions(args, { takes, leading: true });
    const texts = values("-c", "--call");
    const [name = exact(""), ...others] = operands;
    // `npx cowsay@1` runs cowsay.
    const line: readonly Text[] = [{ ...name, head: name.head.replace(/(.)@[^/]*$/, "$1") }, ...others];
    return together([remote, unknownProgram(scope), ...texts.map((text) => script(text)), run(line)]);
  };
}
