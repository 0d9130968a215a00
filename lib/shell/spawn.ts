import { messageOf } from "../errors.ts";
import type { Confined } from "../sandbox/backend.ts";
import { closePipe, openPipe, type Pipe, type Reader, readerOf, writerOf } from "../system/pipe.ts";
import { cannotStart, type CommandLine } from "./program.ts";
import { readStatus, type StatusReport } from "./status.ts";

/** A process just after its start. Its output has to be read in the same tick: Bun buffers a socket's without bound. */
export type Spawned = {
  process: Bun.Subprocess;
  stdin: Bun.FileSink | undefined;
  stdout: Reader;
  stderr: Reader;
  report: StatusReport | undefined;
};

/** Four times the usual: a fast command waits for koda less often. */
export const pipeBytes = 256 * 1024;

/**
 * Starts a command whose output koda reads. The streams are real pipes where they can be had, because what Bun calls a
 * pipe is a socket, and a socket cannot be opened by name: `echo x > /dev/stderr` fails on it.
 */
export function spawn(line: CommandLine, command: Confined, stdin: "empty" | "pipe"): Spawned {
  const input = stdin === "pipe" ? openPipe() : undefined;
  const [output, errors] = [openPipe({ bytes: pipeBytes }), openPipe({ bytes: pipeBytes })];
  try {
    const { argv, cwd, env, descriptors } = command;
    const child = Bun.spawn([...argv], {
      cwd,
      env,
      // A session and a group of its own, so that one signal reaches all of it.
      detached: true,
      stdio: [
        stdin === "empty" ? "ignore" : (input?.read ?? "pipe"),
        output?.write ?? "pipe",
        errors?.write ?? "pipe",
        ...descriptors,
      ],
    });
    const socket = typeof child.stdin === "object" ? child.stdin : undefined;
    return {
      process: child,
      stdin: input === undefined ? socket : writerOf(input),
      stdout: readerFrom(output, child.stdout),
      stderr: readerFrom(errors, child.stderr),
      report: command.status && readStatus(command.status),
    };
  } catch (error) {
    for (const pipe of [input, output, errors, command.status]) closePipe(pipe);
    command.release();
    throw cannotStart(line, messageOf(error), { cause: error });
  }
}

function readerFrom(pipe: Pipe | undefined, socket: unknown): Reader {
  if (pipe !== undefined) return readerOf(pipe);
  if (socket instanceof ReadableStream) return socket.getReader();
  throw new TypeError("A command was started without a way to read its output");
}
