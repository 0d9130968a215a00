import type { Env } from "../config/paths.ts";
import { type Cassette, type Header, readCassette } from "./cassette.ts";
import { openEarly } from "./early.ts";
import { type Fetch, platformFetch } from "./fetch.ts";
import { Recorder, type Track } from "./record.ts";
import { openTape, replayFrom, type Tape } from "./replay.ts";

export type TrafficOptions = {
  /** The cassette to write, as an absolute path. */
  record?: string;
  /** The cassette to answer from. */
  replay?: string;
  loose: boolean;
};

type Line = Omit<Track, "fetch"> & {
  header: Omit<Header, "koda_cassette" | "recorded_at" | "cwd">;
  /** The directories below which commands may write. */
  writable: readonly string[];
  /** Answers instead of the network. */
  script?: Cassette | undefined;
  onDivergence: (message: string) => void;
  /** The provider to connect to at once, since a request to it follows soon. */
  soon?: { baseUrl: string; env: Env } | undefined;
};

/** The model traffic of a process: each cassette is opened once and has a track for every conversation. */
export class Traffic implements Disposable {
  readonly #options: TrafficOptions;
  #replayed: Cassette | undefined;
  #recorder: Recorder | undefined;
  readonly #tapes = new Map<string | undefined, Tape>();

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** The cassette that answers, if there is one. */
  get replayed(): Cassette | undefined {
    const { replay } = this.#options;
    if (replay !== undefined) this.#replayed ??= readCassette(replay);
    return this.#replayed;
  }

  /** The present, by which a replay does what its recording did. */
  get now(): number {
    const recordedAt = Date.parse(this.replayed?.header.recorded_at ?? "");
    return Number.isNaN(recordedAt) ? (this.#recorder?.startedAt ?? Date.now()) : recordedAt;
  }

  /** The fetch of one conversation. */
  open({ header, script, writable, onDivergence, soon, ...track }: Line): Fetch {
    const fetch = this.#source({ script, onDivergence, soon, ...track });
    const { record } = this.#options;
    if (record === undefined) return fetch;
    this.#recorder ??= new Recorder(record, { ...header, cwd: track.cwd }, writable);
    return this.#recorder.record({ ...track, fetch });
  }

  /** A cassette is written or played: whatever depends on how fast something is has to be as it was. */
  get isTaped(): boolean {
    const { record, replay } = this.#options;
    return record !== undefined || replay !== undefined;
  }

  /** The agents in the background whose answers a track's next request has; undefined where no recording tells. */
  answersDue(track: string | undefined): readonly string[] | undefined {
    const next = this.#tapes.get(track)?.next;
    return next && (next.answers ?? []);
  }

  noteAnswers(track: string | undefined, agents: readonly string[]): void {
    this.#recorder?.noteAnswers(track, agents);
  }

  /** Values that no cassette may have, whoever sends them. */
  hide(secrets: readonly string[]): void {
    for (const secret of secrets) this.#recorder?.hide(secret);
  }

  #source({ name: track, cwd, script, onDivergence, soon }: Omit<Line, "header" | "secrets" | "writable">): Fetch {
    const { replayed } = this;
    if (replayed !== undefined) {
      const tape = openTape(replayed, { cwd, track, loose: this.#options.loose, onDivergence });
      this.#tapes.set(track, tape);
      return tape.fetch;
    }
    if (script !== undefined) return replayFrom(script, { cwd, loose: true });
    return soon === undefined ? platformFetch : openEarly(soon.baseUrl, soon.env);
  }

  /** Throws when the recording could not be written. */
  [Symbol.dispose](): void {
    this.#recorder?.close();
  }
}
