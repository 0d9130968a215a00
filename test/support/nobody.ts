import { chmodSync } from "node:fs";
import { dirname } from "node:path";
import type { Place } from "./place.ts";

export const isRoot = process.getuid?.() === 0;

/** Owns nothing, and may do what everyone may. */
export const nobody = 65534;

/** What a command line begins with that is run without root's rights; whoever has none already needs nothing. */
export const asNobody = isRoot ? ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"] : [];

/** Evaluates a script without root's rights, as `evaluateUnder` does. */
export async function evaluateAsNobody(script: string, input: unknown): Promise<unknown> {
  return await evaluateUnder(asNobody, script, input);
}

/**
 * Evaluates a script in a process of its own, whose command line begins with a prefix: `input` is there by that name,
 * `answer` is awaited.
 */
export async function evaluateUnder(prefix: readonly string[], script: string, input: unknown): Promise<unknown> {
  const whole = `const input = JSON.parse(process.argv[1]);\n${script}\nconsole.log(JSON.stringify(await answer));`;
  const child = Bun.spawn([...prefix, process.execPath, "-e", whole, JSON.stringify(input)], {
    cwd: "/",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (child.exitCode !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Lets everyone into a test's project, whose base is private at first. */
export function letEveryoneIn({ project }: Place): void {
  for (const path of [dirname(project), project]) chmodSync(path, 0o755);
}
