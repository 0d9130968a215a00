import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import { grepTool } from "../../lib/tools/grep.ts";
import type { GrepFault, GrepQuery, GrepResult } from "../../lib/tools/search/found.ts";
import { searchWithRipgrep } from "../../lib/tools/search/ripgrep.ts";
import { scopeOf } from "../../lib/tools/search/scope.ts";
import { resolvePath } from "../../lib/trust/path.ts";
import { type HeldTier, openBackend } from "./backends.ts";
import { evaluateUnder } from "./nobody.ts";
import type { Place } from "./place.ts";
import { shellIn } from "./shell.ts";

export type Wanted = Partial<Omit<GrepQuery, "scope">> & {
  path?: string;
  file?: string;
  rules?: Partial<Policy>;
  signal?: AbortSignal;
  /** Called when the scope has been judged, and nothing searched. */
  meanwhile?(): void;
};

/** One search in a tier of its own. */
export async function answer(
  tier: HeldTier,
  place: Place,
  { path = ".", file, rules, signal = new AbortController().signal, meanwhile, ...wanted }: Wanted = {},
): Promise<GrepResult | GrepFault> {
  const { backend, policy } = await openBackend(tier, place, rules);
  using _ = backend;
  await using shell = shellIn(place, { backend, policy });
  const scope = scopeOf(resolvePath(path, policy).real, policy);
  meanwhile?.();
  const query = {
    scope: file === undefined ? scope : { ...scope, file },
    pattern: "needle",
    ignoreCase: false,
    context: 0,
    wanted: 1000,
    ...wanted,
  };
  return await searchWithRipgrep(query, { shell, policy, signal });
}

export async function search(...asked: Parameters<typeof answer>): Promise<GrepResult> {
  const found = await answer(...asked);
  if ("fault" in found) throw new Error(`No result: ${JSON.stringify(found)}`);
  return found;
}

/** The paths of the files in which a search finds something. */
export async function filesFound(...asked: Parameters<typeof answer>): Promise<string[]> {
  return (await search(...asked)).files.map(({ path }) => path);
}

/** The lines that a search finds, as `path:number:text`, those around them as `path-number-text`. */
export async function linesFound(...asked: Parameters<typeof answer>): Promise<string[]> {
  const { shown } = await search(...asked);
  return shown.flatMap(({ path, lines }) =>
    lines.map(({ number, text, column }) =>
      column === undefined ? `${path}-${number}-${text}` : `${path}:${number}:${text}`,
    ),
  );
}

/**
 * Greps in the project, over and over, while another process makes the file "x" of it a link and a file again, until
 * the link was followed; at most so many times. Answers how often it took, 0 when it never was.
 */
export async function roundsUntilFollowed(
  tier: HeldTier,
  place: Place,
  { rules, secret, most }: { rules: Partial<Policy>; secret: string; most: number },
): Promise<number> {
  const { backend, policy } = await openBackend(tier, place, rules);
  using _ = backend;
  await using shell = shellIn(place, { backend, policy });
  const swap = `const fs = require("node:fs");
    while (true) {
      fs.writeFileSync("new", "needle"); fs.renameSync("new", "x");
      fs.symlinkSync(${JSON.stringify(secret)}, "link"); fs.renameSync("link", "x");
    }`;
  const swapping = Bun.spawn([process.execPath, "-e", swap], { cwd: place.project, env: place.env });
  try {
    for (let round = 1; round <= most; round++) {
      const context = { policy, shell, contextWindow: 128_000, signal: AbortSignal.timeout(20_000) };
      if (JSON.stringify(await grepTool.run({ pattern: "needle" }, context)).includes("secret")) return round;
    }
    return 0;
  } finally {
    swapping.kill();
    await swapping.exited;
  }
}

/** The same search in a process of its own, whose command line begins with a prefix. */
export async function searchUnder(prefix: readonly string[], tier: HeldTier, place: Place): Promise<unknown> {
  const script = `
    const { search } = await import(${JSON.stringify(import.meta.path)});
    const answer = search(input.tier, input.place);`;
  return await evaluateUnder(prefix, script, { tier, place });
}
