import {
  arrayIn,
  countIn,
  isRecord,
  type JsonRecord,
  parseJson,
  recordIn,
  recordOf,
  stringIn,
} from "../config/json.ts";
import { requestUrl } from "./address.ts";
import { isOnThisMachine } from "./discovery.ts";
import { type Fetch, platformFetch } from "./fetch.ts";
import { modelsIn } from "./listed.ts";
import type { Provider } from "./providers.ts";

type WindowOptions = {
  /** The window of a model that is not described anywhere. */
  usual: number;
  fetch?: Fetch | undefined;
};

/** The window of a model on a server of this machine, which answers in milliseconds; undefined if it does not tell. */
export async function localWindow(
  provider: Provider,
  model: string,
  { usual, fetch = platformFetch }: WindowOptions,
): Promise<number | undefined> {
  if (!isOnThisMachine(provider)) return undefined;
  const server = { root: serverOf(provider), fetch, signal: AbortSignal.timeout(answerMs) };
  try {
    if (provider.listing === "ollama") return await ollamaWindow(server, { model, usual });
    const path = listPaths[String(provider.listing)];
    if (path === undefined) return undefined;
    return modelsIn(await ask(server, path)).find(({ name }) => name === model)?.contextWindow;
  } catch {
    // The server is not running, or another one: the request to the model will tell.
    return undefined;
  }
}

/** Short enough not to be noticed when a server hangs. */
const answerMs = 500;

const listPaths: Readonly<Record<string, string>> = { lmstudio: "/api/v0/models", vllm: "/v1/models" };

/** The server's URL without the path of its OpenAI-compatible API. */
function serverOf(provider: Pick<Provider, "baseUrl">): string {
  return requestUrl(provider, "").replace(/\/v1$/, "");
}

type Server = { root: string; fetch: Fetch; signal: AbortSignal };

/**
 * Ollama cuts longer conversations off without an error, so what it has allocated counts. A model that is not loaded
 * will get what its parameters say, else a size that only Ollama knows; the most that the model can have limits it.
 */
async function ollamaWindow(server: Server, { model, usual }: { model: string; usual: number }) {
  const loaded = arrayIn(recordOf(await ask(server, "/api/ps")), "models").filter(isRecord);
  const names = [model, `${model}:latest`];
  const running = loaded.find((entry) => names.includes(stringIn(entry, "model") ?? stringIn(entry, "name") ?? ""));
  const allocated = running && countIn(running, "context_length");
  if (allocated) return allocated;

  const shown = recordOf(await ask(server, "/api/show", { model }));
  const [, parameter] = /^num_ctx\s+(\d+)$/m.exec(stringIn(shown, "parameters") ?? "") ?? [];
  if (parameter !== undefined) return Number(parameter);
  const most = longestContext(recordIn(shown, "model_info"));
  return most === undefined ? undefined : Math.min(most, usual);
}

/** `qwen3.context_length`: the name begins with the architecture. */
function longestContext(info: JsonRecord): number | undefined {
  const name = Object.keys(info).find((key) => key.endsWith(".context_length"));
  return name === undefined ? undefined : countIn(info, name);
}

async function ask({ root, fetch, signal }: Server, path: string, body?: object): Promise<unknown> {
  const headers = { accept: "application/json", ...(body && { "content-type": "application/json" }) };
  const method = body === undefined ? "GET" : "POST";
  const response = await fetch(`${root}${path}`, {
    method,
    headers,
    signal,
    ...(body && { body: JSON.stringify(body) }),
  });
  return response.ok ? parseJson(await response.text()) : undefined;
}
