import { KodaError } from "../errors.ts";
import type { CatalogChange } from "../engine/turn.ts";
import type { Offer } from "../mcp/servers.ts";
import { type Catalog, catalogOf } from "../tools/catalog.ts";
import type { Tool } from "../tools/tool.ts";

type CatalogParts = {
  /** Tools of koda's own. */
  builtIn: readonly Tool[];
  servers: { offer(): Promise<Offer | undefined> } | undefined;
  /** The tools of servers that may be used, as they are offered. */
  choose: (offer: Offer) => readonly Tool[];
};

/** The tool catalog of a conversation. It changes only between requests, when the tools of a server come or go. */
export class ToolCatalog {
  readonly #parts: CatalogParts;
  #current: Catalog;
  #offer: Offer | undefined;

  private constructor(parts: CatalogParts, offer: Offer | undefined) {
    this.#parts = parts;
    this.#offer = offer;
    this.#current = this.#compose(offer);
  }

  static async open(parts: CatalogParts): Promise<ToolCatalog> {
    const offer = await parts.servers?.offer();
    try {
      return new ToolCatalog(parts, offer);
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      throw new KodaError(error.code, `failed to build session tool registry: ${error.message}`, { cause: error });
    }
  }

  get current(): Catalog {
    return this.#current;
  }

  /** Takes what the servers offer now. A catalog that cannot be composed leaves the one before. */
  async advance(): Promise<CatalogChange | undefined> {
    const offer = await this.#parts.servers?.offer();
    if (offer === this.#offer) return undefined;
    this.#offer = offer;
    const before = this.#current;
    try {
      this.#current = this.#compose(offer);
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      return { added: [], removed: [], problem: `tool reconfigure failed: ${error.message}` };
    }
    return changeBetween(before, this.#current);
  }

  #compose(offer: Offer | undefined): Catalog {
    const { builtIn, choose } = this.#parts;
    return catalogOf([...builtIn, ...(offer === undefined ? [] : choose(offer))]);
  }
}

function changeBetween(before: Catalog, after: Catalog): CatalogChange | undefined {
  const [old, current] = [namesIn(before), namesIn(after)];
  const [added, removed] = [current.difference(old), old.difference(current)];
  return added.size + removed.size === 0 ? undefined : { added: [...added], removed: [...removed] };
}

function namesIn({ tools }: Catalog): Set<string> {
  return new Set(tools.map(({ name }) => name));
}
