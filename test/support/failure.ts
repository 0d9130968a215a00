import { KodaError } from "../../lib/errors.ts";

/** The KodaError that this fails with; another error is thrown on. */
export async function failureOf(work: Promise<unknown>): Promise<KodaError> {
  const result: unknown = await work.catch((error: unknown) => {
    if (error instanceof KodaError) return error;
    throw error;
  });
  if (result instanceof KodaError) return result;
  throw new Error(`It did not fail, but gave ${JSON.stringify(result)}`);
}
