import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Names a directory for what the files of one test run need not find out again. */
export const keptVariable = "KODA_TEST_KEPT";

/** The answer that a file of this run was given before; asks where none was, or where no directory is named. */
export async function kept(name: string, ask: () => Promise<string | undefined>): Promise<string | undefined> {
  const directory = process.env[keptVariable];
  if (directory === undefined) return await ask();
  const path = join(directory, name);
  if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8")).answer;
  const answer = await ask();
  const whole = `${path}.${process.pid}`;
  writeFileSync(whole, JSON.stringify({ answer }));
  renameSync(whole, path);
  return answer;
}
