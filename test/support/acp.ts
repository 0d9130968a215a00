import {
  client,
  type ClientCapabilities,
  type ClientConnection,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { binary, using } from "./koda.ts";
import { type Script, startModelServer } from "./model-server.ts";
import { makePlace, type Place } from "./place.ts";

type Permission = (request: RequestPermissionRequest, signal: AbortSignal) => Promise<RequestPermissionResponse>;

type ClientOptions = {
  args?: readonly string[];
  capabilities?: ClientCapabilities;
  permission?: Permission;
  answer?: (request: CreateElicitationRequest) => CreateElicitationResponse;
};

export type AcpClient = Awaited<ReturnType<typeof startAcp>>;

/** The library's own client, on the pipes of a `koda acp`. */
export async function startAcp(place: Place, args: readonly string[], options: ClientOptions = {}) {
  const { capabilities = {}, permission = deny, answer = () => ({ action: "decline" as const }) } = options;
  const child = Bun.spawn([binary, "acp", ...args, ...(options.args ?? [])], {
    cwd: place.project,
    env: place.env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const stderr = new Response(child.stderr).text();
  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  const seen = new Set<() => void>();
  const app = client({ name: "test" })
    .onNotification("session/update", ({ params }) => {
      updates.push(params.update);
      for (const look of seen) look();
    })
    .onRequest("session/request_permission", ({ params, signal }) => {
      asked.push(params);
      for (const look of seen) look();
      return permission(params, signal);
    })
    .onRequest("elicitation/create", ({ params }) => answer(params));
  const input = new WritableStream<Uint8Array>({
    async write(bytes) {
      child.stdin.write(bytes);
      await child.stdin.flush();
    },
  });
  const connection: ClientConnection = app.connect(ndJsonStream(input, child.stdout));
  const { agent } = connection;
  const initialized = await agent.request("initialize", { protocolVersion: 1, clientCapabilities: capabilities });
  return {
    child,
    agent,
    initialized,
    updates,
    asked,
    stderr,
    /** Settles when the client has seen enough. */
    until(passes: () => boolean): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (!passes()) return;
        seen.delete(look);
        resolve();
      };
      seen.add(look);
      look();
      return promise;
    },
    begin: (cwd = place.project) => agent.request("session/new", { cwd, mcpServers: [] }),
    prompt: (sessionId: string, text: string): Promise<PromptResponse> =>
      agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
    text: () =>
      updates
        .flatMap((update) => (update.sessionUpdate === "agent_message_chunk" ? [update.content] : []))
        .map((content) => (content.type === "text" ? content.text : ""))
        .join(""),
    /** Hangs up, and waits for the end of koda. */
    async finish(): Promise<number> {
      void child.stdin.end();
      return await child.exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

const deny: Permission = () => Promise.resolve({ outcome: { outcome: "selected", optionId: "deny" } });

/** The same with a scripted server and a place of its own. */
export async function openAcp(
  script: Script,
  { place = makePlace(), ...options }: ClientOptions & { place?: Place } = {},
) {
  const server = await startModelServer(script);
  const acp = await startAcp(place, using(server), options);
  return {
    ...acp,
    server,
    place,
    async [Symbol.asyncDispose]() {
      await acp[Symbol.asyncDispose]();
      await server.close();
      await place[Symbol.asyncDispose]();
    },
  };
}
