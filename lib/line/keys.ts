const pasteStart = Buffer.from("\u001b[200~");
const pasteEnd = Buffer.from("\u001b[201~");

type KeyHandlers = {
  /** Bytes of keys, for the line editor. */
  keys(bytes: Buffer): void;
  paste(text: string): void;
  /** Ctrl-C, Ctrl-D and Ctrl-Z; true when the key was used up. */
  control(key: "c" | "d" | "z"): boolean;
};

const controls = new Map([
  [3, "c"],
  [4, "d"],
  [26, "z"],
] as const);

/** Tells pasted text from keys in what a terminal sends. */
export class KeyStream {
  readonly #handlers: KeyHandlers;
  #waiting: Buffer = Buffer.alloc(0);
  #isPasting = false;

  constructor(handlers: KeyHandlers) {
    this.#handlers = handlers;
  }

  feed(bytes: Uint8Array): void {
    this.#waiting = Buffer.concat([this.#waiting, bytes]);
    while (this.#waiting.length > 0 && this.#step());
  }

  #step(): boolean {
    const marker = this.#isPasting ? pasteEnd : pasteStart;
    const at = this.#waiting.indexOf(marker);
    if (this.#isPasting) {
      if (at === -1) return false;
      this.#handlers.paste(this.#waiting.toString("utf8", 0, at));
    } else {
      const end = at === -1 ? this.#waiting.length - this.#begun(marker) : at;
      this.#keys(this.#waiting.subarray(0, end));
      if (at === -1) {
        this.#waiting = this.#waiting.subarray(end);
        return false;
      }
    }
    this.#isPasting = !this.#isPasting;
    this.#waiting = this.#waiting.subarray(at + marker.length);
    return true;
  }

  /** The length of the marker's beginning with which the bytes end; a lone escape is a key. */
  #begun(marker: Buffer): number {
    for (let length = marker.length - 1; length > 1; length--)
      if (this.#waiting.subarray(-length).equals(marker.subarray(0, length))) return length;
    return 0;
  }

  #keys(bytes: Buffer): void {
    let from = 0;
    for (const [at, byte] of bytes.entries()) {
      const key = controls.get(byte as 3);
      if (key === undefined) continue;
      if (at > from) this.#handlers.keys(bytes.subarray(from, at));
      from = this.#handlers.control(key) ? at + 1 : at;
    }
    if (from < bytes.length) this.#handlers.keys(bytes.subarray(from));
  }
}
