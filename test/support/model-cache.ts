import type { Usage } from "../../lib/model/model.ts";

/**
 * A prompt cache as Anthropic documents it: a breakpoint keeps everything before it, and a later request reads the
 * longest prefix that an earlier one has kept, if that ends at most twenty blocks before one of its own breakpoints.
 */
export class PromptCache {
  readonly #kept = new Set<string>();

  /** The input of a request, by its body; four characters are a token. */
  account(body: { readonly [field: string]: unknown }): Pick<Usage, "input" | "cached" | "written"> {
    const blocks = blocksOf(body);
    const prefixes = blocks.map((_, index) => textOf(blocks.slice(0, index + 1)));
    const marks = blocks.flatMap((block, index) => (block.cache_control === undefined ? [] : [index]));
    const read = Math.max(0, ...marks.map((mark) => this.#longestKept(prefixes, mark)));
    const kept = Math.max(read, ...marks.map((mark) => prefixes[mark]?.length ?? 0));
    for (const mark of marks) this.#kept.add(prefixes[mark] ?? "");
    return { input: tokens(prefixes.at(-1)?.length ?? 0), cached: tokens(read), written: tokens(kept) - tokens(read) };
  }

  #longestKept(prefixes: readonly string[], mark: number): number {
    for (let index = mark; index >= Math.max(0, mark - 20); index--)
      if (this.#kept.has(prefixes[index] ?? "")) return prefixes[index]?.length ?? 0;
    return 0;
  }
}

type Block = { readonly [field: string]: unknown };

/** Tools, then the system prompt, then the messages: the order in which they are cached. */
function blocksOf({ tools, system, messages }: { readonly [field: string]: unknown }): Block[] {
  const turns = (messages ?? []) as readonly { role: string; content: readonly Block[] }[];
  const said = turns.flatMap(({ role, content }) => content.map((block) => ({ role, ...block })));
  return [...((tools ?? []) as Block[]), ...((system ?? []) as Block[]), ...said];
}

function textOf(blocks: readonly Block[]): string {
  return JSON.stringify(blocks, (key, value: unknown) => (key === "cache_control" ? undefined : value));
}

function tokens(characters: number): number {
  return Math.round(characters / 4);
}
