import { homedir } from "node:os";
import { serveClient } from "../lib/acp/agent.ts";
import type { ChatRequest } from "../lib/acp/session.ts";
import { runChat } from "../lib/chat/chat.ts";
import { serverFailures } from "../lib/chat/serverfailures.ts";
import { databaseFile } from "../lib/config/paths.ts";
import { Host } from "../lib/conversation/host.ts";
import { Stores } from "../lib/conversation/stores.ts";
import type { Event } from "../lib/engine/event.ts";
import type { Outcome } from "../lib/engine/outcome.ts";
import { exitByCode, KodaError } from "../lib/errors.ts";
import { inMemory } from "../lib/session/database.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { type ChatOptions, chatParts, rememberPrefix } from "./chatsettings.ts";
import { notifierFor } from "./deliver.ts";
import { usableModels } from "./models.ts";
import { printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import type { Stopper } from "./signals.ts";
import { version } from "./version.ts";

type AcpOptions = CommandOptions<"acp">;

/** `koda acp`: the agent of an editor, or of another client of the Agent Client Protocol, until stdin ends. */
export async function acp(options: AcpOptions, stopper: Stopper): Promise<number> {
  await using stores = new Stores();
  const hosts = new Set<Host>();
  stopper.killNow = () => hosts.forEach((host) => host.killNow());
  const reaper = new Reaper();
  const database = options.ephemeral ? inMemory : databaseFile({ env: process.env, home: homedir() });
  const { signal } = stopper.controller;
  let models: Promise<readonly string[]> | undefined;
  const services = {
    version,
    signal,
    store: () => stores.open(database),
    models: () => (models ??= usableModels(options)),
    async *open(request: ChatRequest): AsyncGenerator<Event, void> {
      using stop = stoppedBy(signal);
      const host = new Host({ stop: stop.controller, cassette: { loose: false }, reaper, stores });
      hosts.add(host);
      try {
        yield* chatFor(request, { options, host });
      } finally {
        hosts.delete(host);
      }
    },
  };
  await serveClient(services, { input: Bun.stdin.stream(), output: standardOutput() });
  return signal.aborted && signal.reason instanceof KodaError ? exitByCode[signal.reason.code] : 0;
}

/** A chat has limits of its own, which stop it alone. */
function stoppedBy(signal: AbortSignal): { controller: AbortController } & Disposable {
  const controller = new AbortController();
  const stop = () => controller.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  return { controller, [Symbol.dispose]: () => signal.removeEventListener("abort", stop) };
}

type Opening = { options: AcpOptions; host: Host };

async function* chatFor(request: ChatRequest, { options, host }: Opening): AsyncGenerator<Event, void> {
  const { cwd, resume, servers, lines, canAnswer } = request;
  const chat: ChatOptions = { ...options, ...chatDefaults, cd: cwd, ...(resume !== undefined && { resume }) };
  const { run: _, ...parts } = chatParts(chat, servers);
  const notifier = await notifierFor(chat);
  // Replies to an earlier connection are of no use to this one.
  const delivered = async () => true;
  const conclude = async (outcome: Outcome) => outcome;
  const asked = { remember: rememberPrefix, canAnswer, dropsEarlier: true };
  const task = { ...parts, ...asked, lines, conclude, delivered };
  for await (const event of runChat(host, task)) {
    notifier?.see(event);
    // stdout is the client's.
    for (const line of warningsIn(event)) await printNote(`koda: ${line}`);
    yield event;
  }
  await notifier?.finished();
}

function warningsIn(event: Event): string[] {
  if (event.type === "notice" && event.level !== "info") return [event.message];
  return event.type === "session.start" ? serverFailures(event.mcp) : [];
}

/** The switches that make no difference here. */
const chatDefaults = {
  json: true,
  last: false,
  printSchema: false,
  replayLoose: false,
  quiet: false,
  verbose: false,
} as const;

function standardOutput(): WritableStream<Uint8Array> {
  const stdout = new OutputStream(1, "stdout");
  const decoder = new TextDecoder();
  return new WritableStream({ write: (bytes) => stdout.write(decoder.decode(bytes, { stream: true })) });
}
