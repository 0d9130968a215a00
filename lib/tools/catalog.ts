import { KodaError } from "../errors.ts";
import type { JsonSchema } from "../model/model.ts";
import type { Tool } from "./tool.ts";

/** All that a request offers: what the model reads and what dispatch accepts are one value, so that they agree. */
export type Catalog = {
  readonly tools: readonly Tool[];
  /** The tools as requests have them. */
  readonly definitions: readonly ToolDefinition[];
};

type ToolDefinition = { readonly name: string; readonly about: string; readonly input: JsonSchema };

/** Throws a KodaError when two tools have one name: a call could mean either. */
export function catalogOf(tools: readonly Tool[]): Catalog {
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name)) throw new KodaError("config", `two tools have the name "${name}"`);
    names.add(name);
  }
  return { tools, definitions: tools.map(({ name, about, input }) => ({ name, about, input })) };
}
