import type { KeptStream } from "../shell/capture.ts";

export type { KeptStream };

export type StoredOutput = { id: string; call: string; stdout: KeptStream; stderr: KeptStream };

/** The whole outputs of calls, by an id that the model is told. Saving again under one id replaces it. */
export type OutputStore = {
  /** A new id, short enough to be quoted by a model (`o7`). */
  reserve(): string;
  save(output: StoredOutput): void;
  load(id: string): StoredOutput | undefined;
};
