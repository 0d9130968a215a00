import { readFileSync } from "node:fs";

/** One row of the report. `value` and `floor` are in `unit`; the bar says what `value`, or their ratio, should be. */
export type Figure = {
  what: string;
  value: number;
  unit: string;
  floor?: number;
  bar: string;
  holds: boolean;
};

export type Cost = { wallMs: number; cpuMs: number; peakMb: number; stdout: string; exit: number | null };

type RunOptions = {
  cwd?: string;
  env?: Record<string, string>;
  /** False: what it prints is thrown away. */
  keep?: boolean;
  /** Watch its memory; that takes time away from it and from a server in this process, so times are taken without. */
  peak?: boolean;
};

/**
 * Runs a program to its end. The peak is read from the kernel's own high-water mark while the program lives: what the
 * system reports at its end is inherited from the parent and says nothing about a small child of a large one.
 */
export async function cost(
  argv: readonly string[],
  { cwd, env, keep = true, peak = false }: RunOptions = {},
): Promise<Cost> {
  const started = performance.now();
  const child = Bun.spawn([...argv], {
    ...(cwd !== undefined && { cwd }),
    ...(env !== undefined && { env }),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const watch = peak ? watchPeak(child.pid) : undefined;
  const stdout = keep ? await child.stdout.text() : await drain(child.stdout);
  await child.exited;
  const wallMs = performance.now() - started;
  const cpu = child.resourceUsage()?.cpuTime.total ?? 0n;
  return { wallMs, cpuMs: Number(cpu) / 1000, peakMb: watch?.stop() ?? 0, stdout, exit: child.exitCode };
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<string> {
  for await (const _ of stream);
  return "";
}

/** The high-water mark of a process's memory in MB, sampled every millisecond until it is stopped. */
export function watchPeak(pid: number): { stop(): number } {
  let kilobytes = 0;
  const look = () => {
    try {
      kilobytes = Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? kilobytes);
    } catch {
      // It is gone; the last look stands.
    }
  };
  const timer = setInterval(look, 1);
  return {
    stop() {
      clearInterval(timer);
      return kilobytes / 1000;
    },
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Takes turns, so that whatever else the machine does falls on all alike. */
export async function interleaved<T>(times: number, ...runs: (() => Promise<T>)[]): Promise<T[][]> {
  const results: T[][] = runs.map(() => []);
  for (let round = 0; round < times; round++)
    for (const [index, run] of runs.entries()) results[index]?.push(await run());
  return results;
}
