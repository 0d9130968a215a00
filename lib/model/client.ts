import { OpenAI } from "openai";
import type { Wire } from "./model.ts";

/** Sends one request's body, which the client has made of `body` key by key, to a URL of the wire. */
export type Send = (url: string, body: string) => Promise<Response>;

/**
 * The only file that knows the openai package. It makes the request; everything after that is ours: how the answer's
 * errors are read, its frames (its own decoder costs thirteen times the CPU of ours and ends in silence when a stream
 * is cut or aborted), the retries and the limits in time. A client is made for each request, so that `send` can be too.
 */
export async function post(
  wire: Wire,
  { baseUrl, body }: { baseUrl: string; body: object },
  send: Send,
): Promise<Response> {
  let failure: unknown;
  const client = new OpenAI({
    baseURL: baseUrl,
    // What it would read from the environment is said here: `send` sets the headers, and nothing else may get out.
    apiKey: "set by send",
    organization: null,
    project: null,
    logLevel: "off",
    maxRetries: 0,
    timeout: longestTimer,
    fetch: async (url, init) => {
      try {
        return await send(String(url), String(init?.body));
      } catch (error) {
        failure = error;
        throw error;
      }
    },
  });

  try {
    // The wires write their bodies in their own words (a server need not be OpenAI's), so the package's types are not asked.
    if (wire === "chat") return await client.chat.completions.create(body as ChatParameters).asResponse();
    return await client.responses.create(body as ResponsesParameters).asResponse();
  } catch (error) {
    throw failure ?? error;
  }
}

type ChatParameters = OpenAI.ChatCompletionCreateParamsStreaming;
type ResponsesParameters = OpenAI.Responses.ResponseCreateParamsStreaming;

/** What setTimeout can hold: the client insists on a limit, and ours is elsewhere. */
const longestTimer = 2 ** 31 - 1;
