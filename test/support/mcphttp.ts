import { isRecord } from "../../lib/config/json.ts";

/** An MCP server over HTTP that speaks the protocol by hand, on loopback. */
export type McpHttp = Disposable & {
  url: string;
  /** `HOST:PORT` for `--allow-net`. */
  host: string;
  /** The headers of each request, in order. */
  requests: readonly Headers[];
  /** The methods that were called, in order. */
  methods: readonly string[];
};

type Options = {
  /** Answers in place of the protocol; undefined goes on with it. */
  first?: (request: Request, body: string) => Response | undefined | Promise<Response | undefined>;
  /** The text of a result of the tool `ask`. */
  says?: string;
  /** Results come as a stream of events. */
  streams?: boolean;
  /** A session id that every later request must have. */
  session?: string;
};

export function startMcpHttp({ first, says = "said", streams = false, session }: Options = {}): McpHttp {
  const requests: Headers[] = [];
  const methods: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      requests.push(request.headers);
      const body = await request.text();
      const early = await first?.(request, body);
      if (early !== undefined) return early;
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const { id, method, params } = messageOf(JSON.parse(body));
      methods.push(method);
      if (session !== undefined && method !== "initialize" && request.headers.get("mcp-session-id") !== session)
        return new Response("no such session", { status: 404 });
      if (id === undefined) return new Response(null, { status: 202 });
      const answer = JSON.stringify({ jsonrpc: "2.0", id, ...answerTo(method, params, says) });
      const headers = {
        "content-type": streams ? "text/event-stream" : "application/json",
        ...(session !== undefined && method === "initialize" && { "mcp-session-id": session }),
      };
      return new Response(streams ? `event: message\ndata: ${answer}\n\n` : answer, { headers });
    },
  });
  const host = `127.0.0.1:${server.port}`;
  return { url: `http://${host}/mcp`, host, requests, methods, [Symbol.dispose]: () => void server.stop(true) };
}

type Message = { id: unknown; method: string; params: Record<string, unknown> };

function messageOf(body: unknown): Message {
  const { id, method, params } = isRecord(body) ? body : {};
  return { id, method: String(method), params: isRecord(params) ? params : {} };
}

function answerTo(method: string, params: Record<string, unknown>, says: string): Record<string, unknown> {
  switch (method) {
    case "initialize":
      return {
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "by hand", version: "1" },
        },
      };
    case "tools/list": {
      const ask = { name: "ask", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
      return { result: { tools: [ask] } };
    }
    case "tools/call":
      return { result: { content: [{ type: "text", text: says }] } };
    default:
      return { error: { code: -32601, message: `unknown method ${method}` } };
  }
}
