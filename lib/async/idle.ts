/** Calls back once, when nothing was heard for the time. */
export class IdleTimer {
  readonly #ms: number;
  readonly #timer: ReturnType<typeof setInterval>;
  #heardAt = performance.now();

  constructor(ms: number, onSilence: () => void) {
    this.#ms = ms;
    // Looking now and then costs nothing on the way of every delta; restarting a timer there would.
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
