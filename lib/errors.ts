import { constants } from "node:os";

/**
 * Every way a run can fail, with its exit code. Users script against both: `end.error.code` is one of these keys, and
 * the process exits with its value.
 */
export const exitByCode = {
  // The model or the provider refused this request; repeating it would not help.
  request: 1,
  model_not_found: 1,
  context: 1,
  content_policy: 1,
  // The provider does not serve the place that the request came from.
  region: 1,
  unsupported_parameter: 1,
  images: 1,
  invalid_image: 1,
  loop: 1,
  // A hook of the user's denied the start or the prompt.
  hook: 1,

  usage: 2,
  config: 2,

  // Outcomes named by --fail-on.
  denied: 3,
  tool_error: 3,
  no_change: 3,
  incomplete: 3,
  // A finding of a review is as severe as --fail-on-severity says.
  severity: 3,
  // The model declared that it cannot finish (--finish required).
  blocked: 3,

  credentials: 4,

  max_turns: 5,
  max_tokens: 5,
  max_cost: 5,
  max_output: 5,

  empty: 6,
  schema: 6,

  sandbox: 7,
  // Another run has commands in the project, where only one may.
  busy: 7,

  // --verify never passed.
  verification: 8,

  // The provider is unavailable, after all retries.
  unavailable: 9,
  overloaded: 9,
  rate_limit: 9,
  quota: 9,
  network: 9,
  silence: 9,
  stream: 9,

  session_not_found: 10,
  session_held: 10,
  batch_not_found: 10,
  store: 10,

  output: 11,
  replay: 12,
  internal: 70,

  timeout: 124,
  idle_timeout: 124,

  sighup: 129,
  sigint: 130,
  sigterm: 143,
  reader_gone: 141,
  // Of an agent: whoever started it has stopped it.
  stopped: 143,
  // Of a turn in a chat.
  interrupted: 130,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof exitByCode;

type ErrorDetails = {
  retryable?: boolean;
  httpStatus?: number;
  /** The delay that the provider asked for, however long. */
  retryAfterMs?: number;
  /** The most retries, when that is less than usual. */
  maxRetries?: number;
  /** The parameter of the request that the provider does not accept. */
  parameter?: string;
  cause?: unknown;
};

/** A failure the user can act on. Any other thrown value is a bug in koda. */
export class KodaError extends Error {
  override readonly name = "KodaError";
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly httpStatus: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** The end of that delay, as an ISO date. */
  readonly retryAt: string | undefined;
  readonly maxRetries: number;
  readonly parameter: string | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.retryable = details.retryable ?? false;
    this.httpStatus = details.httpStatus;
    this.retryAfterMs = details.retryAfterMs;
    this.retryAt = retryAtIn(details.retryAfterMs);
    this.maxRetries = details.maxRetries ?? Infinity;
    this.parameter = details.parameter;
  }
}

function retryAtIn(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(Date.now() + ms).toISOString();
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * The result of a system call, or undefined when it fails: the file or process is gone, is not ours to look at, or does
 * not exist on this platform. A bug in `call` is thrown.
 */
export function unlessRefused<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** The name of an errno, given its number. */
export function errnoName(errno: number): string {
  return Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `errno ${errno}`;
}

/** The errno name (`ENOENT`) of a system error; undefined for other errors. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

const wordsByErrno: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EADDRINUSE: "address already in use",
  EADDRNOTAVAIL: "address not available on this machine",
  EBADF: "bad file descriptor",
  EBUSY: "device or resource busy",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EEXIST: "file exists",
  EFBIG: "file too large",
  EHOSTUNREACH: "no route to host",
  EIO: "input/output error",
  EISDIR: "is a directory",
  EMFILE: "too many open files",
  ENETUNREACH: "network is unreachable",
  ENOMEM: "out of memory",
  ELOOP: "too many levels of symbolic links",
  ENAMETOOLONG: "file name too long",
  ENOENT: "no such file or directory",
  ENOSPC: "no space left on device",
  ENOTDIR: "not a directory",
  ENOTEMPTY: "directory not empty",
  ENXIO: "no such device or address",
  EPERM: "operation not permitted",
  ESTALE: "replaced by something else meanwhile",
  EDQUOT: "disk quota exceeded",
  EROFS: "read-only file system",
  ETIMEDOUT: "connection timed out",
  ETXTBSY: "text file busy",
};

/** `permission denied` for EACCES; the name itself when there are no words for it. */
export function errnoWords(errno: string): string {
  return wordsByErrno[errno] ?? errno;
}

/** Why a system call failed: words, and the errno to look up. */
export function reasonOf(error: unknown): string {
  const errno = errnoOf(error);
  if (errno === undefined) return messageOf(error);
  return errno in wordsByErrno ? `${wordsByErrno[errno]} (${errno})` : errno;
}
