/** Calls back once, after this time without a call of `heard`. */
export class IdleTimer {
  readonly #ms: number;
  readonly #timer: ReturnType<typeof setInterval>;
  #heardAt = performance.now();

  constructor(ms: number, onSilence: () => void) {
    this.#ms = ms;
    // `heard` is called for every delta, so it must not restart a timer.
    const every = Math.max(10, Math.min(1000, ms / 10));
    this.#timer = setInterval(() => {
      if (performance.now() - this.#heardAt < this.#ms) return;
      this.stop();
      onSilence();
    }, every);
  }

  heard(): void {
    this.#heardAt = performance.now();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
