import { realpathSync } from "node:fs";
import { isAbsolute } from "node:path";
import type {
  AgentContext,
  ClientCapabilities,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionResponse,
  NewSessionRequest,
  NewSessionResponse,
  PromptRequest,
  ResumeSessionRequest,
  SetSessionConfigOptionRequest,
  SetSessionConfigOptionResponse,
  SetSessionModeRequest,
  StopReason,
} from "@agentclientprotocol/sdk";
import { KodaError, unlessRefused } from "../errors.ts";
import { withoutRolledBack } from "../session/standing.ts";
import type { Store } from "../session/store.ts";
import { changeBy, choicesOf, modeNamed, modesOf } from "./choices.ts";
import { updatesOfLog } from "./history.ts";
import { serversOf } from "./servers.ts";
import { AcpSession, type OpenChat } from "./session.ts";

export type AcpServices = {
  version: string;
  /** Ends the connection. */
  signal: AbortSignal;
  open: OpenChat;
  store: () => Store;
  /** The models that can be chosen, as `PROVIDER/MODEL`. */
  models: () => Promise<readonly string[]>;
};

type Opening = Omit<ResumeSessionRequest, "sessionId"> & { resume?: string };

const pageSize = 100;

/** The sessions that a client has open. */
export class Sessions implements AsyncDisposable {
  capabilities: ClientCapabilities = {};
  readonly #services: AcpServices;
  readonly #open = new Map<string, AcpSession>();
  /** Those that run, also before they are open. */
  readonly #running = new Set<AcpSession>();
  /** The ids of stored sessions that are about to be open. */
  readonly #opening = new Set<string>();
  /** The reasons why sessions have ended by themselves. */
  readonly #failures = new Map<string, KodaError>();

  constructor(services: AcpServices) {
    this.#services = services;
  }

  async begin(request: NewSessionRequest, client: AgentContext): Promise<NewSessionResponse> {
    const session = await this.#start(request, client);
    return { sessionId: session.id, ...(await this.#introduce(session)) };
  }

  async load(request: ResumeSessionRequest, client: AgentContext): Promise<LoadSessionResponse> {
    const session = await this.#reopen(request, client);
    const store = this.#services.store();
    const { items } = store.read(store.find(session.id));
    for (const update of updatesOfLog(withoutRolledBack(items), session.start.cwd)) await session.update(update);
    return await this.#introduce(session);
  }

  async resume(request: ResumeSessionRequest, client: AgentContext): Promise<LoadSessionResponse> {
    return await this.#introduce(await this.#reopen(request, client));
  }

  async list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const all = this.#services.store().list({ cwd: cwd ? realPathOf(cwd) : undefined });
    const from = cursor ? all.findIndex(({ id }) => id === cursor) + 1 : 0;
    if (cursor && from === 0) throw new KodaError("usage", `Unknown cursor "${cursor}": list from the beginning`);
    const page = all.slice(from, from + pageSize);
    const last = page.at(-1);
    return {
      sessions: page.map(({ id, cwd: directory, title, updatedAt }) => ({
        sessionId: id,
        cwd: directory,
        title,
        updatedAt: new Date(updatedAt).toISOString(),
      })),
      ...(last !== undefined && from + pageSize < all.length && { nextCursor: last.id }),
    };
  }

  async close(id: string): Promise<Record<string, never>> {
    await this.#session(id).close();
    return {};
  }

  async prompt({ sessionId, prompt }: PromptRequest): Promise<StopReason> {
    return await this.#session(sessionId).prompt(prompt);
  }

  /** Of a session that is not open, there is nothing to cancel. */
  cancel(id: string): void {
    this.#open.get(id)?.cancel();
  }

  async setMode({ sessionId, modeId }: SetSessionModeRequest): Promise<Record<string, never>> {
    await this.#session(sessionId).change({ mode: modeNamed(modeId) });
    return {};
  }

  async choose(request: SetSessionConfigOptionRequest): Promise<SetSessionConfigOptionResponse> {
    const session = this.#session(request.sessionId);
    await session.change(changeBy(request));
    return { configOptions: choicesOf(session.start, await this.#services.models()) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running].map((session) => session.close()));
  }

  /** A stored session. One that is being closed is waited for. */
  async #reopen({ sessionId, ...opening }: ResumeSessionRequest, client: AgentContext): Promise<AcpSession> {
    // A prefix of an id is none here: the client would not know the session in its updates.
    if (this.#services.store().named(sessionId) === undefined)
      throw new KodaError("session_not_found", `No session "${sessionId}": session/list has those that are stored`);
    const open = this.#open.get(sessionId);
    if (open?.isClosing === true) await open.over();
    if (this.#open.has(sessionId) || this.#opening.has(sessionId))
      throw new KodaError("session_held", `Session "${sessionId}" is open already: close it first`);
    this.#opening.add(sessionId);
    try {
      return await this.#start({ ...opening, resume: sessionId }, client);
    } finally {
      this.#opening.delete(sessionId);
    }
  }

  async #start(opening: Opening, client: AgentContext): Promise<AcpSession> {
    const { cwd, resume, mcpServers = [], additionalDirectories = [] } = opening;
    if (!isAbsolute(cwd)) throw new KodaError("usage", `Cannot work in "${cwd}": expected an absolute path`);
    if (additionalDirectories.length > 0)
      throw new KodaError("usage", "Cannot add directories to a session: start koda acp with --allow-write DIR");
    const request = { cwd, servers: serversOf(mcpServers), ...(resume !== undefined && { resume }) };
    const session = new AcpSession({ client, capabilities: this.capabilities, open: this.#services.open, request });
    this.#running.add(session);
    void session.over().finally(() => this.#running.delete(session));
    await session.opened();
    const { id } = session;
    this.#open.set(id, session);
    this.#failures.delete(id);
    void session.over().finally(() => {
      this.#open.delete(id);
      if (session.failure !== undefined) this.#failures.set(id, session.failure);
    });
    return session;
  }

  /** The settings of a session that a client has just opened, and then its commands. */
  async #introduce(session: AcpSession) {
    const { start } = session;
    const models = await this.#services.models();
    // The client knows the session once it has the answer.
    setImmediate(() => void session.offerCommands());
    return { modes: modesOf(start), configOptions: choicesOf(start, models) };
  }

  #session(id: string): AcpSession {
    const session = this.#open.get(id);
    if (session !== undefined) return session;
    const { code, message } = this.#failures.get(id) ?? {};
    if (code !== undefined) throw new KodaError(code, `Session "${id}" has ended: ${message}; load it to go on`);
    throw new KodaError("session_not_found", `Session "${id}" is not open`);
  }
}

/** Sessions are stored with real paths. The directory may have been deleted, or moved. */
function realPathOf(path: string): string {
  return unlessRefused(() => realpathSync(path)) ?? path;
}
