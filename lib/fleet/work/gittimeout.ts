import { formatElapsed } from "../../config/units.ts";
import { AttemptFailure } from "./failure.ts";

type Limit = {
  ms: number;
  signal: AbortSignal;
  /** The failure of a task for which the work takes longer, and what could not be done then. */
  code: "repository" | "patch";
  what: string;
};

/** git may never end: some patterns of a `.gitattributes` or `.gitignore` take it more steps than there is time for. */
export async function withGitTimeout<T>(
  { ms, signal, code, what }: Limit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(ms);
  try {
    return await work(AbortSignal.any([signal, limit]));
  } catch (error) {
    if (!limit.aborted || signal.aborted) throw error;
    throw new AttemptFailure(code, `${what}: git did not finish within ${formatElapsed(ms)}`, error);
  }
}
