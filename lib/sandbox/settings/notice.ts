import type { Policy, SettingsCopy } from "../policy/policy.ts";
import { isBelow, isHidden } from "../policy/reach.ts";

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

/** Variables that lead tools to the copies where those cannot be put in the place of the files. */
export function copyVariables({ copies }: Policy): Record<string, string> {
  return Object.fromEntries(
    copies.flatMap(({ variable, isWhole }) =>
      variable === undefined || isWhole ? [] : [[variable.name, variable.value]],
    ),
  );
}
