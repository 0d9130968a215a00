import type { Claim } from "../claim.ts";
import { together, unknownWrite } from "./claims.ts";
import { inDirectory, startsOf } from "./output.ts";
import type { ProgramCall, ProgramRule } from "./program.ts";
import { forkScope, type ShellScope } from "./scope.ts";
import { spotsOf, type Spot } from "./spot.ts";
import { erase, writeTo } from "./targets.ts";
import { exact, mayBeOption, tame, type Text } from "./text.ts";
import { replaced } from "./wrappers.ts";

/** find, by the actions in its expression. */
export const find: ProgramRule = (call) => {
  const { args, scope } = call;
  const starts = startsOf(args);
  const claims: Claim[] = args.some(mayBeOption) ? [unknownWrite] : [];
  for (let index = 0; index < args.length; index++) {
    const action = args[index]?.head ?? "";
    const next = args[index + 1];
    if (/^-(exec|execdir|ok|okdir)$/.test(action)) {
      const line = commandAt(args, index + 1);
      index += line.length;
      claims.push(runOn(starts, line, { call, inPlace: action.endsWith("dir") }));
    } else if (action === "-delete") {
      claims.push(...starts.map((start) => erase(deleted(start, args), { whole: true }, scope)));
    } else if (/^-(fprint|fprint0|fprintf|fls)$/.test(action) && next !== undefined) {
      claims.push(writeTo(next, scope));
    }
  }
  return together(claims);
};

/** Up to `;` or `+`. */
function commandAt(args: readonly Text[], start: number): readonly Text[] {
  const end = args.findIndex(({ head }, index) => index >= start && (head === ";" || head === "+"));
  return args.slice(start, end === -1 ? undefined : end);
}

function runOn(
  starts: readonly Text[],
  line: readonly Text[],
  { call, inPlace }: { call: ProgramCall; inPlace: boolean },
): Claim {
  const names = inPlace ? [tame("./")] : starts.map(inDirectory);
  const scope: ShellScope = { ...forkScope(call.scope), input: undefined };
  if (inPlace) scope.cwds = directoriesBelow(starts, scope);
  return call.run(replaced(line, "{}", names), scope);
}

function directoriesBelow(starts: readonly Text[], scope: ShellScope): readonly Spot[] | undefined {
  const spots = starts.map((start) => spotsOf(start, scope));
  return spots.some((some) => some === undefined)
    ? undefined
    : spots.flatMap((some) => some ?? []).map((spot) => ({ ...spot, exact: false }));
}

/** Without a test that leaves something out, the starting point itself goes too. */
function deleted(start: Text, args: readonly Text[]): Text {
  const isFiltered = args.some(({ head }) => /^[-(!]/.test(head) && !/^-(delete|depth|d|H|L|P|print|xdev)$/.test(head));
  // `find . -delete` cannot delete the directory that it runs in, only all that is in it.
  return isFiltered || /^\.\/*$/.test(start.head)
    ? inDirectory(start)
    : start.rest === "none"
      ? exact(start.head)
      : start;
}
