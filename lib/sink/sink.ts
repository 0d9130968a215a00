import type { Event } from "../engine/event.ts";

/** Where a run's events go as bytes. `write` settles when the event is on its way and the reader keeps up. */
export type Sink = {
  write(event: Event): Promise<void>;
  /** Settles when everything written has left the process; throws what stdout threw. */
  flush(): Promise<void>;
  /** The bytes for stderr of a process that cannot wait for `flush`. */
  leave(): string;
};

/** The part of a sink that one output mode writes to stdout, or that people read on stderr. */
export type Writer = (event: Event) => Promise<void> | undefined;
