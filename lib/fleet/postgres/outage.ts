import { formatDuration, formatElapsed } from "../../config/units.ts";
import { isConflict, isOutage, postgresFailure } from "./postgreserror.ts";
import type { PostgresAddress } from "./postgresaddress.ts";

type Patience = {
  /** An outage is waited out for so long. */
  ms: number;
  /** One line at its beginning, one at its end. */
  note: (text: string) => void;
};

const firstPauseMs = 100;
const longestPauseMs = 2_000;
const mostConflicts = 20;

/** Repeats what failed because the server was away or because others were in the way, for some time. */
export class Outages {
  readonly #address: PostgresAddress;
  readonly #patience: Patience;
  /** The beginning of the one that was noted, which several statements may wait out at once. */
  #since: number | undefined;

  constructor(address: PostgresAddress, patience: Patience) {
    this.#address = address;
    this.#patience = patience;
  }

  /** Throws a KodaError, which is retryable if it was an outage all the time. */
  async outlast<T>(work: () => Promise<T>): Promise<T> {
    const started = performance.now();
    let conflicts = 0;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        const result = await work();
        this.#over();
        return result;
      } catch (error) {
        const failure = postgresFailure(this.#address, error);
        if (isConflict(error) && conflicts < mostConflicts) conflicts += 1;
        else if (isOutage(error) && performance.now() - started < this.#patience.ms) this.#begun(failure);
        else throw failure;
        await Bun.sleep(pauseMs * Math.random());
      }
    }
  }

  #begun(failure: unknown): void {
    if (this.#since !== undefined) return;
    this.#since = performance.now();
    const message = failure instanceof Error ? failure.message : String(failure);
    this.#patience.note(`${message} Trying again for ${formatDuration(this.#patience.ms)}.`);
  }

  #over(): void {
    if (this.#since === undefined) return;
    const ms = performance.now() - this.#since;
    this.#since = undefined;
    this.#patience.note(`${this.#address.place} is back after ${formatElapsed(ms)}.`);
  }
}
