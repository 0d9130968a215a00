import { pathToFileURL } from "node:url";
import {
  Client,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type ElicitResult,
  type FetchLike,
  type JSONRPCMessage,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Transport,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/client";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import type { ElicitationAnswer } from "../tools/elicitation.ts";

/** The protocol is the library of its authors; streams, connections and what becomes of results are koda's own. */
export type {
  CallToolResult,
  Client,
  FetchLike,
  JSONRPCMessage,
  Progress,
  RequestOptions,
  Tool as ToolDefinition,
  Transport,
} from "@modelcontextprotocol/client";

export { specTypeSchemas } from "@modelcontextprotocol/client";

/** A question of a server to the user. */
export type ElicitParams = ElicitRequestFormParams | ElicitRequestURLParams;

export type ClientOptions = {
  version: string;
  /** The project, for servers that ask for it. */
  root: string;
  /** One of the server's lists is not what it was. */
  onListChanged: () => void;
  /** The server asks the user; the signal is aborted when it does not wait any more. */
  onElicit: (params: ElicitParams, signal: AbortSignal) => Promise<ElicitationAnswer>;
  /** The user may be asked to visit a page. */
  canElicit: boolean;
  /** Asks for the server's versions first, as the protocol of 2026 has it. */
  negotiates?: true;
};

/** A client with koda's answers to what a server may ask. */
export function newClient({ version, root, onListChanged, onElicit, canElicit, negotiates }: ClientOptions): Client {
  const changed = { autoRefresh: false, debounceMs: 50, onChanged: onListChanged };
  const client = new Client(
    { name: "koda", version },
    {
      capabilities: { roots: {}, elicitation: { form: {}, ...(canElicit && { url: {} }) } },
      ...(negotiates && { versionNegotiation: { mode: "auto" } }),
      jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
      listChanged: { tools: changed, resources: changed, prompts: changed },
    },
  );
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: pathToFileURL(root).href, name: "project" }] }));
  // The library checks the answer.
  client.setRequestHandler(
    "elicitation/create",
    async ({ params }, { mcpReq }) => (await onElicit(params, mcpReq.signal)) as ElicitResult,
  );
  return client;
}

/** The server has answered that it does not know the handshake, or nothing that the handshake allows. */
export function isHandshakeRefusal(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 400 || error.status === 404;
  return error instanceof ProtocolError;
}

/** The pages that the user has to visit before a request can be made, as the server names them. */
export function requiredPages(error: unknown): readonly ElicitRequestURLParams[] {
  const { elicitations } = error instanceof UrlElicitationRequiredError ? error : { elicitations: [] };
  return elicitations.filter(({ url, message }) => typeof message === "string" && URL.canParse(url));
}

/** Streamable HTTP with a fetch of our own. */
export function httpTransport(url: string, fetch: FetchLike): Transport {
  return new StreamableHTTPClientTransport(new URL(url), { fetch });
}

/** The transport, whose messages are changed before anybody sees them. */
export function changing(transport: Transport, change: <T extends JSONRPCMessage>(message: T) => T): Transport {
  let take = transport.onmessage;
  Object.defineProperty(transport, "onmessage", {
    get: () => take,
    set: (given: Transport["onmessage"]) => {
      take = given && ((message, extra) => given(change(message), extra));
    },
  });
  return transport;
}

/** The server has not answered a request in time. */
export function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}
