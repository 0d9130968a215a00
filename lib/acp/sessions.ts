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
import { KodaError } from "../errors.ts";
import { withoutRolledBack } from "../session/standing.ts";
import type { Store } from "../session/store.ts";
import { changeBy, choicesOf, modeNamed, modesOf } from "./choices.ts";
import { updatesOfLog } from "./earlier.ts";
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

type Opening = Pick<ResumeSessionRequest, "cwd" | "mcpServers" | "additionalDirectories"> & { sessionId?: string };

const pageSize = 100;

/** The sessions that a client has open. */
export class Sessions implements AsyncDisposable {
  capabilities: ClientCapabilities = {};
  readonly #services: AcpServices;
  readonly #open = new Map<string, AcpSession>();

  constructor(services: AcpServices) {
    this.#services = services;
  }

  async begin(request: NewSessionRequest, client: AgentContext): Promise<NewSessionResponse> {
    const session = await this.#start(request, client);
    return { sessionId: session.id, ...(await this.#stateOf(session)) };
  }

  async load(request: ResumeSessionRequest, client: AgentContext): Promise<LoadSessionResponse> {
    const store = this.#services.store();
    const { items } = store.read(store.find(request.sessionId));
    const session = await this.#start(request, client);
    for (const update of updatesOfLog(withoutRolledBack(items), session.start.cwd)) await session.update(update);
    return await this.#stateOf(session);
  }

  async resume(request: ResumeSessionRequest, client: AgentContext): Promise<LoadSessionResponse> {
    return await this.#stateOf(await this.#start(request, client));
  }

  async list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const all = this.#services.store().list({ cwd: cwd ?? undefined });
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
    await Promise.all([...this.#open.values()].map((session) => session.close()));
  }

  async #start(opening: Opening, client: AgentContext): Promise<AcpSession> {
    const { cwd, sessionId: resume, mcpServers = [], additionalDirectories = [] } = opening;
    if (!isAbsolute(cwd)) throw new KodaError("usage", `Cannot work in "${cwd}": expected an absolute path`);
    if (additionalDirectories.length > 0)
      throw new KodaError("usage", "Cannot add directories to a session: start koda acp with --allow-write DIR");
    if (resume !== undefined && this.#open.has(resume))
      throw new KodaError("session_held", `Session "${resume}" is open already: close it first`);
    const request = { cwd, servers: serversOf(mcpServers), ...(resume !== undefined && { resume }) };
    const session = new AcpSession({ client, capabilities: this.capabilities, open: this.#services.open, request });
    await session.opened();
    this.#open.set(session.id, session);
    void session.over().finally(() => this.#open.delete(session.id));
    // The client knows the session once it has the answer.
    setImmediate(() => void session.offerCommands());
    return session;
  }

  async #stateOf({ start }: AcpSession) {
    return { modes: modesOf(start), configOptions: choicesOf(start, await this.#services.models()) };
  }

  #session(id: string): AcpSession {
    const session = this.#open.get(id);
    if (session === undefined) throw new KodaError("session_not_found", `Session "${id}" is not open`);
    return session;
  }
}
