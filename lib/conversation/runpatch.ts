import type { Changes } from "../engine/changes.ts";
import type { Notice } from "../engine/event.ts";
import { KodaError } from "../errors.ts";

const mostNamed = 10;

/** The patch of a run (`--patch`): from the first change in any of its turns until nothing can write any more. */
export class RunPatch {
  #first: Changes | undefined;
  #hadTurn = false;
  #taken: Uint8Array | KodaError | undefined;

  /** The patch, or the reason why it could not be made; undefined when the run had no turn. */
  get taken(): Uint8Array | KodaError | undefined {
    return this.#taken;
  }

  /** Takes ownership of the changes of the first turn that has any; returns whether it did. */
  keep(changes: Changes): boolean {
    this.#hadTurn = true;
    if (this.#first !== undefined || !changes.isWatching) return false;
    this.#first = changes;
    return true;
  }

  /** Makes the patch, and returns what to tell the user about it. */
  async take(stop: AbortSignal): Promise<readonly Notice[]> {
    if (!this.#hadTurn) return [];
    await using first = this.#first;
    try {
      const { bytes, lacks } = (await first?.patch(stop)) ?? { bytes: new Uint8Array(), lacks: [] };
      this.#taken = bytes;
      return lacks.length === 0 ? [] : [incomplete(lacks)];
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      this.#taken = error;
      return [];
    }
  }
}

function incomplete(lacks: readonly string[]): Notice {
  const others = lacks.length > mostNamed ? [`and ${lacks.length - mostNamed} more`] : [];
  const message = `The file of --patch lacks ${[...lacks.slice(0, mostNamed), ...others].join("; ")}`;
  return { type: "notice", level: "warn", code: "patch", message };
}
