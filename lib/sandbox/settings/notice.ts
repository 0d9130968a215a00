import { realpathSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import type { Policy, SettingsCopy } from "../policy/policy.ts";
import { isHidden } from "../policy/reach.ts";

type Shown = {
  policy: Policy;
  /** Copies are found in the place of the files. */
  placesCopies: boolean;
  unclear: readonly string[];
};

/** Names the settings that commands find incomplete or not at all; undefined when there are none. */
export function describeCopies({ policy, placesCopies, unclear }: Shown): string | undefined {
  const incomplete = policy.copies.filter(({ isWhole }) => !isWhole);
  const isFound = ({ variable }: SettingsCopy) => placesCopies || variable !== undefined;
  const found = incomplete.filter(isFound).map(({ at }) => at);
  const closed = [...incomplete.filter((copy) => !isFound(copy)).map(({ at }) => at), ...unclear].filter((path) =>
    isHidden(path, policy),
  );
  const sentences = [
    ...(found.length > 0 ? [`Commands get ${listOf(found, policy)} without credentials`] : []),
    ...(closed.length > 0 ? [`Commands cannot read ${listOf(closed, policy)}, which may hold credentials`] : []),
  ];
  return sentences.length === 0 ? undefined : `${sentences.join(". ")} (--allow-read PATH gives them the file itself).`;
}

function listOf(paths: readonly string[], { home }: Policy): string {
  return paths.map((path) => (isBelow(path, home) ? `~${path.slice(home.length)}` : path)).join(", ");
}

/**
 * Variables that lead tools to the copies where those cannot be put in the place of the files. Where the user has set
 * one, it is changed if it names the file that was copied: `npm run` sets `npm_config_userconfig=~/.npmrc`.
 */
export function copyVariables(
  { copies, ...places }: Pick<Policy, "copies" | "root" | "home">,
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  const variables = copies.flatMap((copy) => {
    const { variable, isWhole } = copy;
    if (variable === undefined || isWhole) return [];
    // npm reads its names in capitals too.
    const own = Object.entries(given).filter(([name]) => name.toLowerCase() === variable.name.toLowerCase());
    if (own.length === 0) return [[variable.name, variable.value]];
    return own
      .filter(([, value]) => fileNamedBy(value, copy, places) === copy.at)
      .map(([name]) => [name, variable.value]);
  });
  return Object.fromEntries(variables);
}

/** The real path of the file to which a variable leads, by its own name or by that of its directory. */
function fileNamedBy(value: string, { copy, variable }: SettingsCopy, { root, home }: Pick<Policy, "root" | "home">) {
  const path = resolve(root, value.replace(/^~(?=\/)/, home));
  return unlessRefused(() => realpathSync(variable?.value === copy ? path : join(path, basename(copy))));
}
