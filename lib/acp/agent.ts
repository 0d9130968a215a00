import {
  agent,
  type AnyMessage,
  MessageTooLargeError,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type Stream,
} from "@agentclientprotocol/sdk";
import { exitByCode, KodaError } from "../errors.ts";
import { type AcpServices, Sessions } from "./sessions.ts";

type Streams = { input: ReadableStream<Uint8Array>; output: WritableStream<Uint8Array> };

/**
 * Serves a client until it has gone, and stops everything that it has begun. The library is used in this file alone:
 * the others import types of it.
 */
export async function serveClient(services: AcpServices, { input, output }: Streams): Promise<void> {
  await using sessions = new Sessions(services);
  const connection = appFor(sessions, services.version).connect(inOrder(ndJsonStream(output, input)));
  const close = () => connection.close();
  services.signal.addEventListener("abort", close);
  await connection.closed;
  services.signal.removeEventListener("abort", close);
  const { reason } = connection.signal;
  if (reason instanceof MessageTooLargeError)
    throw new KodaError(
      "usage",
      "Cannot read a message of the client: it is longer than 32 MB, and one message is one line",
    );
}

/** The library looks for the handler of a message in steps, and the next message could overtake it. */
function inOrder({ readable, writable }: Stream): Stream {
  const paced = new TransformStream<AnyMessage, AnyMessage>({
    async transform(message, controller) {
      controller.enqueue(message);
      await new Promise(setImmediate);
    },
  });
  return { readable: readable.pipeThrough(paced), writable };
}

function appFor(sessions: Sessions, version: string) {
  const { session } = methods.agent;
  return agent({ name: "koda" })
    .onRequest(methods.agent.initialize, ({ params }) => {
      sessions.capabilities = params.clientCapabilities ?? {};
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: "koda", title: "koda", version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, embeddedContext: true },
          mcpCapabilities: { http: true },
          sessionCapabilities: { list: {}, resume: {}, close: {} },
        },
        authMethods: [],
      };
    })
    .onRequest(session.new, ({ params, client }) => answered(sessions.begin(params, client)))
    .onRequest(session.load, ({ params, client }) => answered(sessions.load(params, client)))
    .onRequest(session.resume, ({ params, client }) => answered(sessions.resume(params, client)))
    .onRequest(session.list, ({ params }) => answered(sessions.list(params)))
    .onRequest(session.close, ({ params }) => answered(sessions.close(params.sessionId)))
    .onRequest(session.prompt, async ({ params }) => ({
      stopReason: await answered(sessions.prompt(params)),
    }))
    .onRequest(session.setMode, ({ params }) => answered(sessions.setMode(params)))
    .onRequest(session.setConfigOption, ({ params }) => answered(sessions.choose(params)))
    .onNotification(session.cancel, ({ params }) => sessions.cancel(params.sessionId));
}

/** An error of koda's as one of the protocol. */
async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    const { code, message, retryable } = error;
    throw new RequestError(numberOf(code), message, { code, exit: exitByCode[code], retryable });
  }
}

function numberOf(code: KodaError["code"]): number {
  if (code === "credentials") return authRequired;
  if (code === "session_not_found") return notFound;
  return code === "usage" || code === "config" ? invalidParams : internal;
}

const [authRequired, notFound, invalidParams, internal] = [-32000, -32002, -32602, -32603] as const;
