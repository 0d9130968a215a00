import type { Event } from "../engine/event.ts";
import type { OutputStream } from "./output.ts";

/** Writes a run's events as bytes. `write` settles when the event is on its way and the reader keeps up. */
export type Sink = {
  write(event: Event): Promise<void>;
  /** Writes lines for people to stderr. */
  note(text: string): Promise<void>;
  /** Settles when everything has left the process; throws the error of stdout. */
  flush(): Promise<void>;
  /** Settles when everything on stdout has left the process; false when stdout is lost. */
  delivered(): Promise<boolean>;
  /** Bytes that clear the terminal's line, for a process that exits without waiting for `flush`. */
  clearLine(): string;
};

/** One part of a sink: the output mode on stdout, or the progress on stderr. */
export type EventWriter = (event: Event) => Promise<void> | undefined;

/** The part of an output that a sink uses. */
export type SinkOutput = Pick<OutputStream, "write" | "flush" | "isIdle">;

type OutputMode = "text" | "json" | "jsonl";

export type SinkOptions = {
  mode: OutputMode;
  stdout: SinkOutput;
  stderr: SinkOutput;
  stdoutIsTerminal: boolean;
  stderrIsTerminal: boolean;
  /** A conversation: each turn has its answer, and its errors are told when they occur. */
  isChat?: boolean;
  /** True while the line of stderr belongs to somebody who types. */
  isTyping?: () => boolean;
  /** Both streams are the same pipe or file, as with `2>&1`. */
  isOneStream?: boolean;
  /** Show text as it comes, even when stdout is not a terminal. */
  stream: boolean;
  /** The answer has to match a schema, so the last reply of a failed run is not an answer. */
  hasSchema?: boolean;
  quiet: boolean;
  verbose: boolean;
  /** Colours on stderr; see `wantsColor`. */
  color: boolean;
  /** The current width of stderr. */
  columns: () => number;
  /** The longest silence in a log before a line says that the run goes on. */
  heartbeatMs?: number;
};
