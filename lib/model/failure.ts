import { proxyName, proxyOfFetch } from "../egress/route/upstream.ts";
import { isLoopback } from "../egress/rules/host.ts";
import { errnoOf, type ErrorCode, KodaError, messageOf } from "../errors.ts";
import { askedDelay } from "./patience.ts";
import { endpointOf, type Environment, querySecrets } from "./address.ts";
import type { ExtraHeaders } from "./headers.ts";
import { type ApiKey, flagProvider, type Provider, sourceOf } from "./providers.ts";
import { describe, reading, type Said, statusIn, trimmed } from "./said.ts";
import { codeOf } from "./verdict.ts";

/** The request that failed, for messages; `env` may name a proxy. */
export type Origin = {
  provider: Provider;
  model: string;
  key?: ApiKey | undefined;
  headers?: ExtraHeaders | undefined;
  env: Environment;
};

/** Values meant for the provider alone: messages do not repeat them. */
export function secretsOf({ provider, key, headers }: Origin): string[] {
  return [...(key === undefined ? [] : [key.value]), ...(headers?.secrets ?? []), ...querySecrets(provider)];
}

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
  const baseUrl = endpointOf(origin.provider);
  const details = { retryable: !isHopeless(errnoOf(error)), cause: error };
  if (started)
    return new KodaError("stream", `The connection to ${baseUrl} broke in the middle of the reply: ${reason}`, details);

  const through = proxyOfFetch(new URL(baseUrl), origin.env);
  const isAbsent = reason === refusal && isLoopback(through?.proxy.host ?? new URL(baseUrl).hostname);
  const problem = isAbsent && through === undefined ? "No server listens at" : "Cannot connect to";
  const proxy = through === undefined ? "" : ` through the proxy ${proxyName(through.proxy)} (${through.variable})`;
  const hint = origin.provider.local ? ` (is ${origin.provider.name} running?)` : "";
  return new KodaError("network", `${problem} ${baseUrl}${proxy}: ${reason}${hint}`, {
    ...details,
    // Nothing listens there on this machine, so waiting makes no difference.
    ...(isAbsent && { maxRetries: 0 }),
  });
}

type Details = Said & { status: number | undefined; retryAfterMs: number | undefined };

function failure(code: ErrorCode, { message, status, retryAfterMs }: Details, origin: Origin): KodaError {
  const said = trimmed(message, secretsOf(origin));
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
      if (key === undefined) return withoutKey(provider, quoted);
      return `${provider.name} refused the key from ${sourceOf(key)}${because}`;
    case "model_not_found":
      return `${provider.name} has no model "${model}" at ${endpointOf(provider)}${because}`;
    case "context":
      return `The conversation is too long for ${provider.name}/${model}${because}`;
    case "content_policy":
      return `${provider.name} refused the content of the conversation${because}`;
    case "images":
      return `${provider.name}/${model} does not take images${because}`;
    case "quota":
      return `${provider.name}: quota exceeded${because}`;
    case "rate_limit":
      return `${provider.name} is limiting the rate of requests${because}`;
    case "overloaded":
      return `${provider.name} is overloaded${because}`;
    case "unavailable":
      return `${provider.name} is unavailable${because}`;
    case "stream":
      return `${provider.name} stopped in the middle of its reply${because}`;
    default:
      return `${provider.name} rejected the request${because}`;
  }
}

function withoutKey({ name, keys }: Provider, quoted: string): string {
  const subject = name === flagProvider ? "The endpoint" : name;
  const said = quoted === "" ? "" : ` (${quoted})`;
  const names = keys.join(" or ");
  const hint = names === "" ? "Name the variable that holds it: --api-key-env NAME" : `Set ${names}`;
  return `${subject} needs an API key${said}. ${hint}`;
}

function redirected(status: number, target: string | null, origin: Origin): KodaError {
  const where = target === null ? "somewhere else" : `to "${trimmed(target, secretsOf(origin))}"`;
  const message = `${endpointOf(origin.provider)} redirects ${where} (${status}), which koda does not follow, so that no key goes there. Set the base URL to the final address`;
  return new KodaError("request", message, { httpStatus: status });
}

/** The words for it; a proxy's refusal is explained only in the message. */
function reasonOf(error: unknown): string {
  const code = errnoOf(error);
  if (code === undefined || code === "ERR_PROXY_TUNNEL") return messageOf(error);
  return reasons[code] ?? code;
}

/** Another attempt would be given the same certificate, or find the same proxy in the environment. */
function isHopeless(code = ""): boolean {
  return /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY|UnsupportedProxy/.test(code);
}

const refusal = "connection refused";
const untrusted = (code: string) =>
  `its certificate is not trusted (${code}). If a CA of your own signed it, name the CA's PEM file in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE`;

const reasons: Readonly<Record<string, string>> = {
  ConnectionRefused: refusal,
  ECONNREFUSED: refusal,
  ConnectionClosed: "the connection was closed",
  ECONNRESET: "the connection was closed",
  ENOTFOUND: "no such host",
  ETIMEDOUT: "it timed out",
  CERT_HAS_EXPIRED: "its certificate has expired (CERT_HAS_EXPIRED)",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host (ERR_TLS_CERT_ALTNAME_INVALID)",
  UnsupportedProxyProtocol: "models are reached only through http:// and https:// proxies",
  ...Object.fromEntries(
    [
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "UNABLE_TO_GET_ISSUER_CERT",
      "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
      "SELF_SIGNED_CERT_IN_CHAIN",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
    ].map((code) => [code, untrusted(code)]),
  ),
};
