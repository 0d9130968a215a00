import { proxyName, proxyOfFetch } from "../egress/route/upstream.ts";
import { isLoopback } from "../egress/rules/host.ts";
import { errnoOf, errnoWords, type ErrorCode, KodaError, messageOf } from "../errors.ts";
import { endpointOf, querySecrets } from "./address.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { errorBodyOf, sanitize, statusIn, type ErrorBody } from "./errorbody.ts";
import { errorCodeOf } from "./errorcode.ts";
import type { OptionalParameter } from "./model.ts";
import { customProviderName } from "./configured.ts";
import { isRecognizable, keySource } from "./key.ts";
import type { Provider } from "./providers.ts";
import type { HeaderMap } from "./ratelimits.ts";
import { parameterAdvice, refusedParameter } from "./refusedparameters.ts";
import { requestedDelay } from "./retryafter.ts";

/** Values for the provider alone, which messages must not repeat. */
export function secretsOf({ provider, key, headers }: ModelEndpoint): string[] {
  const keys = key !== undefined && isRecognizable(key) ? [key.value] : [];
  return [...keys, ...(headers?.secrets ?? []), ...querySecrets(provider)];
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
  const found = errorCodeOf(status, body);
  const parameter = found === "request" ? refusedParameter(body) : undefined;
  const code = parameter === undefined ? found : "unsupported_parameter";
  const message = sanitize(body.message, secretsOf(endpoint));
  const retryable = retryableCodes.has(code);
  // A gateway may send a date with every refusal: no other refusal passes with time.
  const retryAfterMs = retryable || code === "quota" ? requestedDelay(headers, body.message) : undefined;
  return new KodaError(code, sentence({ code, status, message, parameter }, endpoint), {
    retryable,
    ...(status !== undefined && { httpStatus: status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(parameter !== undefined && { parameter }),
  });
}

const retryableCodes: ReadonlySet<ErrorCode> = new Set(["rate_limit", "unavailable", "overloaded", "stream"]);

type Fault = {
  code: ErrorCode;
  status: number | undefined;
  /** The provider's own words. */
  message: string;
  parameter: OptionalParameter | undefined;
};

/** The problem, the provider's own words, and what to do. */
function sentence(fault: Fault, endpoint: ModelEndpoint): string {
  const { code, status, message } = fault;
  const quoted = [status, message && `"${message}"`].filter((part) => part !== undefined && part !== "").join(" ");
  if (code === "credentials" && endpoint.key === undefined) return missingKey(endpoint.provider, quoted);
  const advice = adviceFor(fault, endpoint);
  const problem = `${problemOf(fault, endpoint)}${quoted === "" ? "" : `: ${quoted}`}`;
  return advice === undefined ? problem : `${problem}. ${advice}`;
}

function problemOf({ code, parameter, ...fault }: Fault, { provider, info, key }: ModelEndpoint): string {
  const { name } = provider;
  const source = key && keySource(key);
  const problems: Partial<Record<ErrorCode, string>> = {
    credentials: isPermission(fault)
      ? `${name} does not allow this request with the key from ${source}`
      : `${name} refused the key from ${source}`,
    region: `${name} does not serve this region`,
    model_not_found: `${name} has no model "${info.name}" at ${endpointOf(provider)}`,
    context: `The conversation is too long for ${name}/${info.name}`,
    content_policy: `${name} refused the content of the conversation`,
    images: `${name}/${info.name} does not accept images`,
    invalid_image: `${name} refused an image`,
    unsupported_parameter: `${name}/${info.name} does not accept the parameter ${parameter}`,
    quota: `${name}: quota exceeded`,
    rate_limit: `${name} is limiting the rate of requests`,
    overloaded: `${name} is overloaded`,
    unavailable: `${name} is unavailable`,
    stream: `${name} stopped in the middle of its reply`,
  };
  return problems[code] ?? `${name} rejected the request`;
}

/** True when the key is good, but not for this request. */
function isPermission({ status, message }: Pick<Fault, "status" | "message">): boolean {
  return status === 403 && !/api[ _]?key|token|credential|authenticat/i.test(message);
}

/** The way out of an error that another attempt would meet again. */
function adviceFor(fault: Fault, { key }: ModelEndpoint): string | undefined {
  const { code, message, parameter } = fault;
  switch (code) {
    case "credentials":
      if (isPermission(fault)) return "Check what the key may use, or choose another model with -m";
      return key?.variable === undefined
        ? "Check what the command prints"
        : `Check ${key.variable}, or name another variable with --api-key-env`;
    case "region":
      return "Choose another provider with -m, or a gateway of your own with --base-url";
    case "model_not_found":
      return /model|deploy|is not available/i.test(message)
        ? "Choose another with -m"
        : "Check the base URL, which often ends in /v1, or choose another model with -m";
    case "context":
      return "Begin a new session, ask for less, or choose a model with a larger window with -m";
    case "content_policy":
      return "Rephrase the prompt, or choose another model with -m";
    case "quota":
      return /fewer max_tokens/.test(message)
        ? "Pass a smaller --max-output-tokens, or check the billing of the account"
        : "Check the plan and the billing of the account, or choose another provider with -m";
    case "unsupported_parameter":
      if (message.includes("use /v1/responses")) return "Pass --wire responses";
      return parameter && parameterAdvice(parameter);
    case "request":
      return requestAdvice(message);
    default:
      return undefined;
  }
}

function requestAdvice(message: string): string | undefined {
  if (/not support tools|support tool use/i.test(message)) return "Choose a model that can call tools with -m";
  if (/\bmax_(?:completion_|output_)?tokens\b/.test(message)) return "Pass a smaller --max-output-tokens";
  return undefined;
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
