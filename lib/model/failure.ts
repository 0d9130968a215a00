import { errnoOf, type ErrorCode, KodaError, messageOf } from "../errors.ts";
import { askedDelay } from "./patience.ts";
import type { ApiKey, Provider } from "./providers.ts";
import { describe, reading, type Said, statusIn, trimmed } from "./said.ts";
import { codeOf } from "./verdict.ts";

/** Who was asked for what: every message says it. */
export type Origin = { provider: Provider; model: string; key?: ApiKey | undefined };

/** The error of a response that is not a stream: what the provider said, and what it means for the run. */
export function refused(response: { status: number; headers: Headers }, body: string, origin: Origin): KodaError {
  const { status, headers } = response;
  if (status >= 300 && status < 400) return redirected(status, headers.get("location"), origin);
  const said = reading(body);
  const code = codeOf(status, said);
  return failure(code, { ...said, status, retryAfterMs: askedDelay(headers, said.message) }, origin);
}

/** The error that a provider reports in the middle of its stream, or in a body that says 200. */
export function reported(error: unknown, origin: Origin): KodaError {
  const said = describe(error);
  const status = statusIn(error);
  const code = codeOf(status, said);
  return failure(code, { ...said, status, retryAfterMs: askedDelay(new Headers(), said.message) }, origin);
}

/** The error of a connection that did not come about, or broke. */
export function unconnected(error: unknown, origin: Origin, { started }: { started: boolean }): KodaError {
  const reason = reasonOf(error);
  const untrusted = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/.test(reason);
  const url = origin.provider.baseUrl;
  const details = { retryable: !untrusted, cause: error };
  if (started)
    return new KodaError("stream", `The connection to ${url} broke in the middle of the reply: ${reason}`, details);
  const hint = origin.provider.local ? ` (is ${origin.provider.name} running?)` : "";
  return new KodaError("network", `Cannot connect to ${url}: ${reason}${hint}`, details);
}

type Details = Said & { status: number | undefined; retryAfterMs: number | undefined };

function failure(code: ErrorCode, { message, status, retryAfterMs }: Details, origin: Origin): KodaError {
  const said = trimmed(message, origin.key);
  return new KodaError(code, sentence(code, { said, status }, origin), {
    retryable: retryableCodes.has(code),
    ...(status !== undefined && { httpStatus: status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

const retryableCodes: ReadonlySet<ErrorCode> = new Set(["rate_limit", "unavailable", "overloaded", "stream"]);

function sentence(
  code: ErrorCode,
  { said, status }: { said: string; status: number | undefined },
  origin: Origin,
): string {
  const { provider, model, key } = origin;
  const quoted = [status, said && `"${said}"`].filter((part) => part !== undefined && part !== "").join(" ");
  const because = quoted === "" ? "" : `: ${quoted}`;
  switch (code) {
    case "credentials":
      if (key === undefined) return `${provider.name} wants a key, and none is set${because}${keyHint(provider)}`;
      return `${provider.name} refused the key in ${key.variable}${because}`;
    case "model_not_found":
      return `${provider.name} has no model "${model}" at ${provider.baseUrl}${because}`;
    case "context":
      return `The conversation is too long for ${provider.name}/${model}${because}`;
    case "content_policy":
      return `${provider.name} refused the content of the conversation${because}`;
    case "images":
      return `${provider.name}/${model} does not take images${because}`;
    case "quota":
      return `The quota at ${provider.name} is used up${because}`;
    case "rate_limit":
      return `${provider.name} limits the rate of requests${because}`;
    case "overloaded":
      return `${provider.name} is overloaded${because}`;
    case "unavailable":
      return `${provider.name} is unavailable${because}`;
    case "stream":
      return `${provider.name} broke off its reply${because}`;
    default:
      return `${provider.name} did not accept the request${because}`;
  }
}

function keyHint(provider: Provider): string {
  const names = provider.keys.join(" or ");
  return names === "" ? "; name the variable that holds it with --api-key-env" : `; set ${names}`;
}

function redirected(status: number, target: string | null, { provider, key }: Origin): KodaError {
  const where = target === null ? "somewhere else" : `to "${trimmed(target, key)}"`;
  const message = `${provider.baseUrl} redirects ${where} (${status}), and a key is sent to no other address: set the base URL to the one that is meant`;
  return new KodaError("request", message, { httpStatus: status });
}

function reasonOf(error: unknown): string {
  const code = errnoOf(error);
  return (code && reasons[code]) ?? code ?? messageOf(error);
}

const reasons: Readonly<Record<string, string>> = {
  ConnectionRefused: "connection refused",
  ECONNREFUSED: "connection refused",
  ConnectionClosed: "the connection was closed",
  ECONNRESET: "the connection was closed",
  ENOTFOUND: "no such host",
  ETIMEDOUT: "it timed out",
};
