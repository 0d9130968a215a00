import { setTimeout as sleep } from "node:timers/promises";
import { unlessAborted } from "../async/unlessaborted.ts";
import type { McpServerConfig } from "../config/config.ts";
import { KodaError, messageOf } from "../errors.ts";
import { visibleLine } from "../visible.ts";
import type { CallToolResult, Client } from "./client.ts";
import { type CallingContext, Elicitor } from "./elicitor.ts";
import { featuresOf, type ServerFeatures } from "./features.ts";
import { progressReport } from "./progress.ts";
import type { ServerConnection, ServerContext } from "./connection.ts";

type State =
  | { status: "connecting" | "connected" | "disabled" }
  /** It was connected before or never; it is tried again. */
  | { status: "failed"; error: string };

export type RequestLimits = { signal: AbortSignal; timeout: number; maxTotalTimeout: number };

type CallOptions = { context: CallingContext; onProgress: (text: string) => void };

/**
 * A configured server: its connection, opened again when it breaks, and its features, kept meanwhile. Closing it
 * stops its program.
 */
export class Server implements AsyncDisposable {
  readonly name: string;
  readonly config: McpServerConfig;
  /** Settles when the first attempt is over. */
  readonly attempted: Promise<void>;
  readonly #context: ServerContext;
  readonly #elicitor: Elicitor;
  readonly #life = new AbortController();
  readonly #running: Promise<void>;
  readonly #firstAttempt = Promise.withResolvers<void>();
  #state: State = { status: "connecting" };
  #features: ServerFeatures | undefined;
  #connection: ServerConnection | undefined;
  #isStale = false;
  #isRefreshing = false;

  constructor(name: string, config: McpServerConfig, context: ServerContext) {
    this.name = name;
    this.config = config;
    this.#context = context;
    this.#elicitor = new Elicitor({ server: name, warn: context.warn });
    this.attempted = this.#firstAttempt.promise;
    if (!config.enabled) {
      this.#state = { status: "disabled" };
      this.#firstAttempt.resolve();
    }
    this.#running = config.enabled ? this.#run() : Promise.resolve();
  }

  get state(): State {
    return this.#state;
  }

  /** Ends a first attempt that is not over: it is not used then. */
  giveUp(): void {
    if (this.#state.status !== "connecting") return;
    this.#state = { status: "failed", error: "its start was interrupted" };
    this.#life.abort();
    this.#firstAttempt.resolve();
  }

  /** Undefined until it has been connected once. */
  get features(): ServerFeatures | undefined {
    return this.#features;
  }

  async call(tool: string, input: unknown, options: CallOptions): Promise<CallToolResult> {
    const params = { name: tool, arguments: input as Record<string, unknown> };
    const onprogress = progressReport(options.onProgress);
    const definition = this.#features?.tools.entries.find(({ name }) => name === tool);
    return await this.askWithUser(async (client, limits) => {
      if (definition?.execution?.taskSupport !== "required")
        return await client.callTool(params, {
          ...limits,
          onprogress,
          ...(definition && { toolDefinition: definition }),
        });
      const { callAsTask } = await import("./task.ts");
      return await callAsTask(client, { ...params, task: { ttl: this.config.callTimeoutMs } }, limits);
    }, options.context);
  }

  /** Makes a request. Throws with the reason when the connection ends meanwhile. */
  async ask<T>(request: (client: Client, limits: RequestLimits) => Promise<T>, signal: AbortSignal): Promise<T> {
    const connection = this.#connected();
    const timeout = this.config.callTimeoutMs;
    try {
      return await request(connection.client, { signal, timeout, maxTotalTimeout: timeout });
    } catch (error) {
      throw new Error(connection.describe(error), { cause: error });
    }
  }

  /** The same for a request during which the server may ask the user, who has all the time. */
  async askWithUser<T>(
    request: (client: Client, limits: Omit<RequestLimits, "maxTotalTimeout">) => Promise<T>,
    context: CallingContext,
  ): Promise<T> {
    return await this.#elicitor.during(context, this.config.callTimeoutMs, async (stop) =>
      this.ask(async (client, { signal }) => request(client, { signal, timeout: longestTimeout }), stop),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await this.#running;
  }

  #connected(): ServerConnection {
    if (this.#connection !== undefined) return this.#connection;
    const why = this.#state.status === "failed" ? ` (${this.#state.error})` : "";
    throw new Error(`it is not connected${why}; koda goes on trying to connect`);
  }

  /** One connection after the other, until it is closed. */
  async #run(): Promise<void> {
    const { signal } = this.#life;
    for (let restMs = firstRestMs; !signal.aborted; restMs = Math.min(restMs * 2, longestRestMs)) {
      const start = performance.now();
      const fault = await this.#connect(signal);
      if (signal.aborted) return;
      // One that connects and exits at once is not started again and again without a rest.
      if (performance.now() - start >= longestRestMs) restMs = firstRestMs;
      this.#state = { status: "failed", error: fault.message };
      this.#firstAttempt.resolve();
      if (fault.isFinal) return;
      await sleep(restMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Connects, and stays until the connection ends: the reason. */
  async #connect(signal: AbortSignal): Promise<{ message: string; isFinal: boolean }> {
    let connection: ServerConnection | undefined;
    try {
      const { openConnection } = await import("./connection.ts");
      connection = await openConnection(this.name, this.config, {
        ...this.#context,
        signal,
        onListChanged: () => void this.#refresh(),
        onElicit: async (params, stop) => this.#elicitor.ask(params, stop),
      });
      const features = await this.#featuresNow(connection.client);
      signal.throwIfAborted();
      this.#features = features;
      this.#connection = connection;
      this.#state = { status: "connected" };
      this.#firstAttempt.resolve();
      return { message: await unlessAborted(connection.ended, signal), isFinal: false };
    } catch (error) {
      const message = visibleLine(connection?.describe(error) ?? messageOf(error));
      return { message, isFinal: error instanceof KodaError && error.code === "config" };
    } finally {
      this.#connection = undefined;
      await connection?.close();
    }
  }

  async #featuresNow(client: Client): Promise<ServerFeatures> {
    const { startTimeoutMs: timeout, enabledTools, disabledTools } = this.config;
    const isEnabled = (tool: string) => enabledTools?.includes(tool) !== false && !disabledTools.includes(tool);
    return await featuresOf(client, { signal: this.#life.signal, timeout, isEnabled });
  }

  /** A list has changed. One that changes while it is asked for is asked for again. */
  async #refresh(): Promise<void> {
    this.#isStale = true;
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      while (this.#isStale && this.#connection !== undefined) {
        this.#isStale = false;
        this.#features = await this.#featuresNow(this.#connection.client);
      }
    } catch (error) {
      if (this.#life.signal.aborted) return;
      this.#context.warn(`The MCP server "${this.name}" changed its tools and did not list them: ${messageOf(error)}`);
    } finally {
      this.#isRefreshing = false;
    }
  }
}

/** That of a timer. */
const longestTimeout = 2 ** 31 - 1;

const firstRestMs = 500;
const longestRestMs = 30_000;
