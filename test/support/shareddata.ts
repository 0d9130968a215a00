import { existsSync } from "node:fs";
import { join } from "node:path";

const variable = "KODA_SHARED_DATA";

/** Tests in a copy of the checkout find the data where it lies beside the original. */
export const sharedDataEnvironment = { [variable]: process.env[variable] ?? join(process.cwd(), "../shared/data") };

/**
 * A file or directory of recorded data, which others published and which lies beside the checkout, in ../shared/data.
 * Undefined where it is not there: a test is skipped then, and says so.
 */
export function sharedData(path: string): string | undefined {
  const found = join(sharedDataEnvironment[variable], path);
  return existsSync(found) ? found : undefined;
}
