import type { Place } from "./place.ts";

export type Ran = { exit: number | null; signal: string | null; stdout: string; stderr: string };

export type RunOptions = {
  env?: Record<string, string>;
  cwd?: string;
  /** Text, or a file descriptor. */
  stdin?: string | Blob | number | "inherit";
  detached?: boolean;
};

export type Running = ReturnType<typeof spawnIn>;

/** Starts a program in a test's project, with pipes for what it prints, and without input where none is given. */
export function spawnIn(place: Place, argv: readonly string[], { env, cwd, stdin, detached }: RunOptions = {}) {
  return Bun.spawn([...argv], {
    cwd: cwd ?? place.project,
    env: { ...place.env, ...env },
    ...(detached !== undefined && { detached }),
    stdin: stdin === undefined ? "ignore" : isSource(stdin) ? stdin : new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
}

function isSource(stdin: NonNullable<RunOptions["stdin"]>): stdin is number | "inherit" {
  return typeof stdin === "number" || stdin === "inherit";
}

export async function finished(child: Running): Promise<Ran> {
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { exit: child.exitCode, signal: child.signalCode === null ? null : String(child.signalCode), stdout, stderr };
}

/** Runs a program in a test's project to its end. */
export async function runIn(place: Place, argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return finished(spawnIn(place, argv, options));
}
