/**
 * Why there is no page, in words for the model. `denied`: the rules refuse it, so that trying again is no use;
 * everything else is the world's doing.
 */
export class FetchFailure extends Error {
  readonly denied: boolean;

  constructor(message: string, { denied = false, cause }: { denied?: boolean; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.denied = denied;
  }
}
