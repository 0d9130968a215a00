import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallPart } from "../../lib/model/message.ts";
import type { EnvironmentFacts, ItemOf } from "../../lib/session/item.ts";
import type { StoredOutput } from "../../lib/session/outputs.ts";
import { type NewSession, openStore, type Store } from "../../lib/session/store.ts";

export const start: NewSession = { cwd: "/project", model: "big", provider: "corp", mode: "auto" };

/** The environment that the first items of a session record. */
export const facts: EnvironmentFacts = {
  cwd: "/project",
  date: "2026-11-18",
  mode: "auto",
  sandbox: "none",
  writable: ["/project"],
  model: "big",
  provider: "corp",
};

/** A directory with a database that belong to one test alone. */
export type Shelf = AsyncDisposable & { directory: string; path: string; store: Store };

export function makeShelf(): Shelf {
  const directory = mkdtempSync(join(tmpdir(), "koda-sessions-"));
  const path = join(directory, "data", "koda.db");
  const store = openStore(path);
  return {
    directory,
    path,
    store,
    async [Symbol.asyncDispose]() {
      store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export const user = (text: string): ItemOf<"user"> => ({ kind: "user", parts: [{ type: "text", text }] });

export const call = (id: string, tool = "Bash", input: unknown = {}): CallPart => ({
  type: "call",
  id,
  tool,
  arguments: JSON.stringify(input),
});

export const reply = (text: string, ...calls: CallPart[]): ItemOf<"assistant"> => ({
  kind: "assistant",
  parts: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls],
  finish: calls.length > 0 ? "calls" : "stop",
  usage: { input: 10, cached: null, output: 5, reasoning: null },
});

export const result = (id: string, text: string, tool = "Bash"): ItemOf<"result"> => ({
  kind: "result",
  call: id,
  tool,
  ok: true,
  parts: [{ type: "text", text }],
  durationMs: 1,
});

export function output(id: string, stdout: string, stderr = ""): StoredOutput {
  return { id, call: "c1", stdout: whole(stdout), stderr: whole(stderr) };
}

function whole(text: string) {
  const head = new TextEncoder().encode(text);
  const totalLines = text.split("\n").length - (text.endsWith("\n") || text === "" ? 1 : 0);
  return { head, tail: new Uint8Array(), totalBytes: head.length, totalLines };
}
