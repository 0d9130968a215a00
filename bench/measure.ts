import { readFileSync } from "node:fs";

/** One row of the report. `value` and `floor` are in `unit`; `bar` is the goal, and `holds` says if it is met. */
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
  /** False discards the output. */
  keep?: boolean;
  /** Sample the memory. This slows down the program and a server in this process, so times are measured without. */
  peak?: boolean;
};

/**
 * Runs a program to its end. The peak is the kernel's high-water mark, read while the program runs: the value after its
 * end includes the memory of the parent that it was forked from.
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
      // The process has ended; the last sample counts.
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

/** Runs the functions in turn, so that other load on the machine affects all of them equally. */
export async function interleaved<T>(times: number, ...runs: (() => Promise<T>)[]): Promise<T[][]> {
  const results: T[][] = runs.map(() => []);
  for (let round = 0; round < times; round++)
    for (const [index, run] of runs.entries()) results[index]?.push(await run());
  return results;
}
