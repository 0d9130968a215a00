import { setTimeout as sleep } from "node:timers/promises";
import { unlessAborted } from "../async/unlessaborted.ts";
import type { McpServerConfig } from "../config/config.ts";
import { KodaError, messageOf } from "../errors.ts";
import { visibleLine } from "../visible.ts";
import type { CallToolResult, Client, Progress } from "./client.ts";
import { definitionsOf, type Offering } from "./definitions.ts";
import type { Link, Surroundings } from "./link.ts";

type State =
  | { status: "connecting" | "connected" | "disabled" }
  /** It was connected before or never; it is tried again. */
  | { status: "failed"; error: string };

type RequestLimits = { signal: AbortSignal; timeout: number; maxTotalTimeout: number };

type CallOptions = { signal: AbortSignal; onProgress: (text: string) => void };

/**
 * A configured server: its connection, opened again when it breaks, and its definitions, kept meanwhile. Closing it
 * stops its program.
 */
export class Server implements AsyncDisposable {
  readonly name: string;
  readonly config: McpServerConfig;
  /** Settles when the first attempt is over. */
  readonly attempted: Promise<void>;
  readonly #surroundings: Surroundings;
  readonly #life = new AbortController();
  readonly #running: Promise<void>;
  readonly #firstAttempt = Promise.withResolvers<void>();
  #state: State = { status: "connecting" };
  #definitions: Offering | undefined;
  #link: Link | undefined;
  #isStale = false;

  constructor(name: string, config: McpServerConfig, surroundings: Surroundings) {
    this.name = name;
    this.config = config;
    this.#surroundings = surroundings;
    this.attempted = this.#firstAttempt.promise;
    if (!config.enabled) this.#become({ status: "disabled" });
    this.#running = config.enabled ? this.#run() : Promise.resolve();
    if (!config.enabled) this.#firstAttempt.resolve();
  }

  get state(): State {
    return this.#state;
  }

  /** Undefined until it has been connected once. */
  get definitions(): Offering | undefined {
    return this.#definitions;
  }

  async call(tool: string, input: unknown, options: CallOptions): Promise<CallToolResult> {
    const params = { name: tool, arguments: input as Record<string, unknown> };
    const onprogress = ({ progress, total, message }: Progress) => {
      const share = total === undefined ? `${progress}` : `${progress}/${total}`;
      options.onProgress(message === undefined ? share : `${share} ${message}`);
    };
    const isTask = this.#definitions?.tools.find(({ name }) => name === tool)?.execution?.taskSupport === "required";
    return await this.ask(async (client, limits) => {
      if (!isTask) return await client.callTool(params, { ...limits, onprogress });
      const { callAsTask } = await import("./task.ts");
      return await callAsTask(client, params, limits);
    }, options.signal);
  }

  /** Makes a request. Throws with the reason when the connection ends meanwhile. */
  async ask<T>(request: (client: Client, limits: RequestLimits) => Promise<T>, signal: AbortSignal): Promise<T> {
    const link = this.#connected();
    const timeout = this.config.callTimeoutMs;
    try {
      return await request(link.client, { signal, timeout, maxTotalTimeout: timeout });
    } catch (error) {
      throw new Error(link.describe(error), { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await this.#running;
  }

  #connected(): Link {
    if (this.#link !== undefined) return this.#link;
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
      this.#become({ status: "failed", error: fault.message });
      this.#firstAttempt.resolve();
      if (fault.isFinal) return;
      await sleep(restMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Connects, and stays until the connection ends: the reason. */
  async #connect(signal: AbortSignal): Promise<{ message: string; isFinal: boolean }> {
    let link: Link | undefined;
    try {
      const { open } = await import("./link.ts");
      link = await open(this.name, this.config, {
        ...this.#surroundings,
        signal,
        onListChanged: () => void this.#refresh(),
      });
      const timeout = this.config.startTimeoutMs;
      this.#definitions = await definitionsOf(link.client, { signal, timeout });
      this.#link = link;
      this.#become({ status: "connected" });
      this.#firstAttempt.resolve();
      return { message: await unlessAborted(link.ended, signal), isFinal: false };
    } catch (error) {
      const message = visibleLine(link?.describe(error) ?? messageOf(error));
      return { message, isFinal: error instanceof KodaError && error.code === "config" };
    } finally {
      this.#link = undefined;
      await link?.close();
    }
  }

  /** A list has changed; what is asked for already may be older than this change. */
  async #refresh(): Promise<void> {
    if (this.#isStale) return;
    this.#isStale = true;
    try {
      while (this.#isStale && this.#link !== undefined) {
        this.#isStale = false;
        const asking = { signal: this.#life.signal, timeout: this.config.startTimeoutMs };
        this.#definitions = await definitionsOf(this.#link.client, asking);
      }
      this.#surroundings.onChange();
    } catch (error) {
      if (this.#life.signal.aborted) return;
      this.#surroundings.warn(
        `The MCP server "${this.name}" changed its tools and did not list them: ${messageOf(error)}`,
      );
    } finally {
      this.#isStale = false;
    }
  }

  #become(state: State): void {
    this.#state = state;
    this.#surroundings.onChange();
  }
}

const firstRestMs = 500;
const longestRestMs = 30_000;
