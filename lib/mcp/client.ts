import { pathToFileURL } from "node:url";
import {
  Client,
  type FetchLike,
  type JSONRPCMessage,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";

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

type ClientOptions = {
  version: string;
  /** The project, for servers that ask for it. */
  root: string;
  /** One of the server's lists is not what it was. */
  onListChanged: () => void;
  /** Asks for the server's versions first, as the protocol of 2026 has it. */
  negotiates?: true;
};

/** A client with koda's answers to what a server may ask. */
export function newClient({ version, root, onListChanged, negotiates }: ClientOptions): Client {
  const changed = { autoRefresh: false, debounceMs: 50, onChanged: onListChanged };
  const client = new Client(
    { name: "koda", version },
    {
      capabilities: { roots: {}, elicitation: { form: {} } },
      ...(negotiates && { versionNegotiation: { mode: "auto" } }),
      jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
      listChanged: { tools: changed, resources: changed, prompts: changed },
    },
  );
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: pathToFileURL(root).href, name: "project" }] }));
  // No one is there to be asked.
  client.setRequestHandler("elicitation/create", () => ({ action: "decline" }));
  return client;
}

/** The server has answered that it does not know the handshake, or nothing that the handshake allows. */
export function isHandshakeRefusal(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 400 || error.status === 404;
  return error instanceof ProtocolError;
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
