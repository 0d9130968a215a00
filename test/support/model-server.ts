import { createServer, type Socket } from "node:net";
import type { Wire } from "../../lib/config/config.ts";
import { readConversation, type Conversation } from "./model-check.ts";
import { readHttp, type HttpRequest } from "./model-http.ts";
import { asReply, problem, status, type Entry, type Reply, type Step } from "./model-reply.ts";

/**
 * A provider that says what a test tells it to, on 127.0.0.1 and each wire. It speaks HTTP over bare sockets, since
 * half of what there is to test is how a connection ends. Replies are written with `model-reply.ts`:
 *
 *     await using server = await startModelServer([call("Read", { path: "a.txt" }), say("It is empty.")]);
 *     … "--base-url", server.url …
 *     expect(server.requests[1]?.lines.at(-1)?.text).toContain("empty");
 *
 * A request that a strict provider would refuse gets a 400 which says why, and one too many a 500; both are kept in
 * `problems`.
 */
export async function startModelServer(script: Script, options: ServerOptions = {}): Promise<ModelServer> {
  const requests: ModelRequestSeen[] = [];
  const problems: string[] = [];
  const sockets = new Set<Socket>();
  const waiting: ((request: ModelRequestSeen) => void)[] = [];
  let answered = 0;
  let announced = 0;

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A client that leaves is part of many tests; `gone` tells those who care.
    socket.on("error", () => socket.destroy());
    void serve(socket);
  });
  await new Promise<void>((listening) => server.listen(options.port ?? 0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The model server has no port.");

  async function serve(socket: Socket): Promise<void> {
    const gone = new Promise<"gone">((resolve) =>
      socket.on("close", () => resolve("gone")).on("end", () => resolve("gone")),
    );
    for await (const http of readHttp(socket)) {
      const arrivedAt = performance.now();
      const { reply, seen } = await answer(http, arrivedAt);
      const wire = wireOf(http.path) ?? "chat";
      const wantsUsage = (seen?.body.stream_options as { include_usage?: boolean } | undefined)?.include_usage === true;
      const model = typeof seen?.body.model === "string" ? seen.body.model : "scripted";
      const steps = reply({ wire, index: seen?.index ?? 0, model, wantsUsage });
      const ended = await play(steps, socket, gone);
      if (seen !== undefined) seen.sentAt = performance.now();
      seen?.end(ended);
      if (ended === "gone") socket.destroy();
    }
  }

  async function answer(
    http: HttpRequest,
    arrivedAt: number,
  ): Promise<{ reply: Reply; seen?: ModelRequestSeen & { end: (how: Ended) => void } }> {
    const wire = wireOf(http.path);
    if (http.method === "GET" && http.path.endsWith("/models")) return { reply: modelList(options.models) };
    if (http.method !== "POST" || wire === undefined) {
      return { reply: problem(404, `Invalid URL (${http.method} ${http.path})`) };
    }

    const body = parseObject(http.body);
    const conversation = readConversation(wire, body);
    const { promise: ended, resolve: end } = Promise.withResolvers<Ended>();
    const { body: rawBody, ...head } = http;
    const seen = { ...head, index: requests.length, wire, body, raw: rawBody, arrivedAt, ...conversation, ended, end };
    requests.push(seen);
    waiting.shift()?.(seen);

    if (conversation.problems.length > 0 && options.strict !== false) {
      problems.push(...conversation.problems.map((text) => `request ${seen.index + 1}: ${text}`));
      return { reply: problem(400, conversation.problems.join("; "), {}, { type: "invalid_request_error" }), seen };
    }
    const index = answered++;
    const entry = typeof script === "function" ? await script(seen, index) : script[index];
    if (entry !== undefined) return { reply: asReply(entry), seen };
    const message = `The script has ${index} replies, and this is request ${index + 1}.`;
    problems.push(message);
    return { reply: problem(500, message), seen };
  }

  function nextRequest(): Promise<ModelRequestSeen> {
    const seen = requests[announced++];
    return seen ? Promise.resolve(seen) : new Promise((resolve) => waiting.push(resolve));
  }

  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((closed) => server.close(() => closed()));
  }

  const origin = `http://127.0.0.1:${address.port}`;
  return { origin, url: `${origin}/v1`, requests, problems, nextRequest, close, [Symbol.asyncDispose]: close };
}

export type Script =
  readonly Entry[] | ((request: ModelRequestSeen, index: number) => Entry | undefined | Promise<Entry | undefined>);

export type ServerOptions = {
  /** False lets through what a strict provider would refuse. */
  strict?: boolean;
  /** The list of GET /v1/models. */
  models?: readonly string[];
  port?: number;
};

type Ended = "sent" | "gone";

export type ModelRequestSeen = Omit<HttpRequest, "body"> &
  Conversation & {
    index: number;
    wire: Wire;
    /** The parsed body, and its text as it came. */
    body: Record<string, unknown>;
    raw: string;
    /** When the request was read to its end, and when its reply was written to its end. */
    arrivedAt: number;
    sentAt?: number;
    /** How the reply ended: sent to its end, or the client left before. */
    ended: Promise<Ended>;
  };

export type ModelServer = AsyncDisposable & {
  /** The base URL, ending in /v1. */
  url: string;
  origin: string;
  requests: readonly ModelRequestSeen[];
  problems: readonly string[];
  /** The first request, then the second, …: waits for it if need be. */
  nextRequest(): Promise<ModelRequestSeen>;
  close(): Promise<void>;
};

/** A base URL where nobody listens. */
export async function refusingUrl(): Promise<string> {
  const server = await startModelServer([]);
  await server.close();
  return server.url;
}

async function play(steps: readonly Step[], socket: Socket, gone: Promise<"gone">): Promise<Ended> {
  let pending: Uint8Array[] = [];
  const flush = () => {
    if (pending.length > 0) socket.write(Buffer.concat(pending));
    pending = [];
  };
  let ending: "end" | "fin" | "rst" = "end";

  for (const step of steps) {
    switch (step.type) {
      case "head":
        pending.push(headOf(step.status, step.headers));
        break;
      case "send":
        pending.push(
          Buffer.concat([Buffer.from(`${step.bytes.length.toString(16)}\r\n`), step.bytes, Buffer.from("\r\n")]),
        );
        break;
      case "flush":
        flush();
        await new Promise((turn) => setImmediate(turn));
        break;
      case "wait": {
        flush();
        const until = typeof step.until === "function" ? step.until() : step.until;
        if ((await Promise.race([until, gone])) === "gone") return "gone";
        break;
      }
      case "end":
        ending = step.how;
        break;
      default:
        step satisfies never;
    }
  }

  if (ending === "end") pending.push(Buffer.from("0\r\n\r\n"));
  const sent = new Promise<void>((sent) => socket.write(Buffer.concat(pending), () => sent()));
  await Promise.race([sent, gone]);
  if (ending === "fin") socket.end();
  if (ending === "rst") socket.resetAndDestroy();
  return socket.destroyed && ending === "end" ? "gone" : "sent";
}

function headOf(code: number, headers: Record<string, string>): Uint8Array {
  const lines = Object.entries({ ...headers, "transfer-encoding": "chunked" }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return Buffer.from(`HTTP/1.1 ${code} Scripted\r\n${lines.join("\r\n")}\r\n\r\n`);
}

function wireOf(target: string): Wire | undefined {
  const [path = ""] = target.split("?", 1);
  if (path.endsWith("/chat/completions")) return "chat";
  if (path.endsWith("/messages")) return "messages";
  return path.endsWith("/responses") ? "responses" : undefined;
}

function modelList(models: readonly string[] = ["scripted"]): Reply {
  return status(200, {
    object: "list",
    data: models.map((id) => ({ id, object: "model", created: 1, owned_by: "test" })),
  });
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // The check that follows refuses an empty body in the words of a provider.
    return {};
  }
}

/** `bun test/support/model-server.ts [SCRIPT.ts]`: prints its URL and serves until it is killed. */
if (import.meta.main) {
  const { say } = await import("./model-reply.ts");
  const file = process.argv[2];
  const script: Script = file ? (await import(Bun.pathToFileURL(file).href)).default : () => say("Hello.");
  const server = await startModelServer(script);
  console.log(server.url);
}
