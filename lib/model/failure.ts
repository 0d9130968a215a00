import { proxyName, proxyOfFetch } from "../egress/route/upstream.ts";
import { isLoopback } from "../egress/rules/host.ts";
import { errnoOf, errnoWords, type ErrorCode, KodaError, messageOf } from "../errors.ts";
import { endpointOf, querySecrets } from "./address.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { errorBodyOf, sanitize, statusIn, type ErrorBody } from "./errorbody.ts";
import { errorCodeOf } from "./errorcode.ts";
import { customProviderName } from "./configured.ts";
import { keySource, type Provider } from "./providers.ts";
import type { HeaderMap } from "./ratelimits.ts";
import { requestedDelay } from "./retryafter.ts";

/** Values for the provider alone, which messages must not repeat. */
export function secretsOf({ provider, key, headers }: ModelEndpoint): string[] {
  return [...(key === undefined ? [] : [key.value]), ...(headers?.secrets ?? []), ...querySecrets(provider)];
}

/** The error of a response that is not a stream. */
export function responseError(
  { status, headers }: { status: number; headers: HeaderMap },
  body: ErrorBody,
  endpoint: ModelEndpoint,
): KodaError {
  if (status >= 300 && status < 400) return redirectError(status, headers.get("location"), endpoint);
  return providerError(body, { status, headers }, endpoint);
}

/** The error that a provider reports within its stream, or in a body with status 200. */
export function streamError(error: unknown, endpoint: ModelEndpoint): KodaError {
  const body = errorBodyOf(error);
  return providerError(body, { status: statusIn(error), headers: new Map(body.headers) }, endpoint);
}

/** The error of a stream that breaks the protocol. */
export function brokenStream(message: string): KodaError {
  return new KodaError("stream", message, { retryable: true });
}

/** The error of a connection that failed, or broke. */
export function connectionError(
  error: unknown,
  { provider, env = {} }: ModelEndpoint,
  { started }: { started: boolean },
): KodaError {
  const code = errnoOf(error);
  const reason = reasonOf(error);
  const url = endpointOf(provider);
  const details = { retryable: !isPermanent(code), cause: error };
  if (started)
    return new KodaError("stream", `The connection to ${url} broke in the middle of the reply: ${reason}`, details);

  const through = proxyOfFetch(new URL(url), env);
  const isRefused = code === "ConnectionRefused" || code === "ECONNREFUSED";
  const isAbsent = isRefused && isLoopback(through?.proxy.host ?? new URL(url).hostname);
  const problem = isAbsent && through === undefined ? "No server listens at" : "Cannot connect to";
  const proxy = through === undefined ? "" : ` through the proxy ${proxyName(through.proxy)} (${through.variable})`;
  const hint = provider.local ? ` (is ${provider.name} running?)` : "";
  return new KodaError("network", `${problem} ${url}${proxy}: ${reason}${hint}`, {
    ...details,
    // A server on this machine that is not running will not start by itself.
    ...(isAbsent && { maxRetries: 0 }),
  });
}

type Response = { status: number | undefined; headers: HeaderMap };

function providerError(body: ErrorBody, { status, headers }: Response, endpoint: ModelEndpoint): KodaError {
  const code = errorCodeOf(status, body);
  const message = sanitize(body.message, secretsOf(endpoint));
  const quoted = [status, message && `"${message}"`].filter((part) => part !== undefined && part !== "").join(" ");
  const retryAfterMs = requestedDelay(headers, body.message);
  return new KodaError(code, sentence(code, quoted, endpoint), {
    retryable: retryableCodes.has(code),
    ...(status !== undefined && { httpStatus: status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

const retryableCodes: ReadonlySet<ErrorCode> = new Set(["rate_limit", "unavailable", "overloaded", "stream"]);

function sentence(code: ErrorCode, quoted: string, { provider, info, key }: ModelEndpoint): string {
  if (code === "credentials" && key === undefined) return missingKey(provider, quoted);
  const name = provider.name;
  const problems: Partial<Record<ErrorCode, string>> = {
    credentials: `${name} refused the key from ${key && keySource(key)}`,
    model_not_found: `${name} has no model "${info.name}" at ${endpointOf(provider)}`,
    context: `The conversation is too long for ${name}/${info.name}`,
    content_policy: `${name} refused the content of the conversation`,
    images: `${name}/${info.name} does not accept images`,
    invalid_image: `${name} refused an image`,
    quota: `${name}: quota exceeded`,
    rate_limit: `${name} is limiting the rate of requests`,
    overloaded: `${name} is overloaded`,
    unavailable: `${name} is unavailable`,
    stream: `${name} stopped in the middle of its reply`,
  };
  return `${problems[code] ?? `${name} rejected the request`}${quoted === "" ? "" : `: ${quoted}`}`;
}

function missingKey({ name, keys }: Provider, quoted: string): string {
  const subject = name === customProviderName ? "The endpoint" : name;
  const said = quoted === "" ? "" : ` (${quoted})`;
  const names = keys.join(" or ");
  const hint = names === "" ? "Name the variable that holds it: --api-key-env NAME" : `Set ${names}`;
  return `${subject} needs an API key${said}. ${hint}`;
}

function redirectError(status: number, target: string | undefined, endpoint: ModelEndpoint): KodaError {
  const where = target === undefined ? "elsewhere" : `to "${sanitize(target, secretsOf(endpoint))}"`;
  const message =
    `${endpointOf(endpoint.provider)} redirects ${where} (${status}). koda does not follow, since the key would be ` +
    "sent there: set the base URL to the final address";
  return new KodaError("request", message, { httpStatus: status });
}

function reasonOf(error: unknown): string {
  const code = errnoOf(error);
  // Why a proxy refused is only in the message.
  if (code === undefined || code === "ERR_PROXY_TUNNEL") return messageOf(error);
  if (untrustedCodes.has(code))
    return (
      `its certificate is not trusted (${code}). If your own CA signed it, ` +
      "set NODE_EXTRA_CA_CERTS or SSL_CERT_FILE to the CA's PEM file"
    );
  return reasons[code] ?? errnoWords(code);
}

/** The next attempt would get the same certificate, or find the same proxy in the environment. */
function isPermanent(code = ""): boolean {
  return /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY|UnsupportedProxy/.test(code);
}

const untrustedCodes: ReadonlySet<string> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
]);

/** The codes of the runtime's fetch that are no errno. */
const reasons: Readonly<Record<string, string>> = {
  ConnectionRefused: errnoWords("ECONNREFUSED"),
  ConnectionClosed: "the connection was closed",
  ENOTFOUND: "no such host",
  CERT_HAS_EXPIRED: "its certificate has expired (CERT_HAS_EXPIRED)",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host (ERR_TLS_CERT_ALTNAME_INVALID)",
  UnsupportedProxyProtocol: "models can be reached only through http:// and https:// proxies",
};
