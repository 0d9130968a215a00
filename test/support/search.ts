import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import type { BadPattern } from "../../lib/tools/search/dialect.ts";
import type { GrepResult, GrepQuery } from "../../lib/tools/search/found.ts";
import { askWorker } from "../../lib/tools/search/own.ts";
import { searchWithRipgrep } from "../../lib/tools/search/ripgrep.ts";
import { scopeOf } from "../../lib/tools/search/scope.ts";
import { resolvePath } from "../../lib/trust/path.ts";
import { evaluateAsNobody, letEveryoneIn } from "./nobody.ts";
import type { Place } from "./place.ts";
import { policyOf } from "./policy.ts";

export type Engine = (query: GrepQuery, signal: AbortSignal) => Promise<GrepResult | BadPattern | undefined>;

/** Both must give the same answer to everything. */
export const engines: readonly [name: string, engine: Engine][] = [
  ["ripgrep", searchWithRipgrep],
  ["our own engine", (query, signal) => askWorker({ kind: "grep", query }, signal)],
];

type Wanted = Partial<Omit<GrepQuery, "scope">> & { path?: string; file?: string; rules?: Partial<Policy> };

export function queryIn(place: Place, { path = ".", file, rules, ...wanted }: Wanted = {}): GrepQuery {
  const policy = policyOf(place, rules);
  const scope = scopeOf(resolvePath(path, policy).real, policy);
  return {
    scope: file === undefined ? scope : { ...scope, file },
    pattern: "needle",
    ignoreCase: false,
    context: 0,
    wanted: 1000,
    ...wanted,
  };
}

export async function search(engine: Engine, query: GrepQuery): Promise<GrepResult> {
  const found = await engine(query, new AbortController().signal);
  if (found === undefined || "message" in found) throw new Error(`No result: ${JSON.stringify(found)}`);
  return found;
}

/** The paths of the files in which a search finds something. */
export async function filesFound(engine: Engine, query: GrepQuery): Promise<string[]> {
  return (await search(engine, query)).files.map(({ path }) => path);
}

/** The lines that a search finds, as `path:number:text`, those around them as `path-number-text`. */
export async function linesFound(engine: Engine, query: GrepQuery): Promise<string[]> {
  const { shown } = await search(engine, query);
  return shown.flatMap(({ path, lines }) =>
    lines.map(({ number, text, column }) =>
      column === undefined ? `${path}-${number}-${text}` : `${path}:${number}:${text}`,
    ),
  );
}

/** The same as a user without rights. */
export async function searchAsNobody(place: Place, engine: string, query: GrepQuery): Promise<unknown> {
  letEveryoneIn(place);
  const script = `
    const { engines } = await import(${JSON.stringify(import.meta.path)});
    const answer = new Map(engines).get(input.engine)(input.query, new AbortController().signal);`;
  return await evaluateAsNobody(script, { engine, query });
}
