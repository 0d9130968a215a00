import { KodaError } from "../../errors.ts";

/** A tier cannot be had here. The message is the reason, as the rest of a sentence; `fix` says what would help. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
  readonly fix: string | undefined;

  constructor(reason: string, fix?: string) {
    super(reason);
    this.fix = fix;
  }
}

/** The machine may have changed since the tier was opened: then a command is refused, and the run goes on. */
export function orRefuse<T>(confine: () => T): T {
  try {
    return confine();
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    throw new KodaError("sandbox", `Cannot run a command: ${error.message}`, { cause: error });
  }
}
