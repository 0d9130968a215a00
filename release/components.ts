import { resolve } from "node:path";
import type { Component } from "./component.ts";
import { copiesIn, packageAt } from "./packagecomponents.ts";
import { programComponents } from "./programcomponents.ts";
import { ripgrepOf } from "./programs.ts";
import type { Target } from "./targets.ts";

/** Everything in the binary, which is made of these modules, that is not koda's own. */
export function componentsOf(modules: readonly string[], target: Target): readonly Component[] {
  const ripgrep = ripgrepOf(target).path;
  const places = modules
    .filter((path) => resolve(path) !== ripgrep)
    .flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const all = [
    ...[...places, catalogPackage].map(packageAt),
    ...modules.flatMap(copiesIn),
    ...programComponents(target),
  ];
  const byName = new Map(all.map((component) => [`${component.name}@${component.version}`, component]));
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The build makes the catalog of its data; none of its files is a module. */
const catalogPackage = "node_modules/@pydantic/genai-prices";
