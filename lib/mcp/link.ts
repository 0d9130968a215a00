import { resolve as resolvePath } from "node:path";
import type { McpServerConfig, McpTransport } from "../config/config.ts";
import { expandVariables } from "../config/mask.ts";
import type { Env } from "../config/paths.ts";
import type { WayOut } from "../egress/wayout.ts";
import { KodaError, messageOf } from "../errors.ts";
import type { PipedProgram } from "../shell/piped.ts";
import type { OpenOptions } from "../shell/shell.ts";
import type { ProgramLine } from "../shell/program.ts";
import { type Client, httpTransport, isHandshakeRefusal, newClient, type Transport } from "./client.ts";
import { serverFetch } from "./fetch.ts";
import { StdioTransport } from "./stdio.ts";

/** All that servers share: the way to start programs and to reach hosts, and who hears of them. */
export type Surroundings = {
  version: string;
  root: string;
  env: Env;
  /** Starts a program in the sandbox. */
  start: (line: ProgramLine, options: Pick<OpenOptions, "cwd" | "env" | "stderr">) => PipedProgram;
  egress: WayOut;
  /** Settles when a server may be started that could write. */
  mayStart: () => Promise<void>;
  /** A server's state or its definitions are not what they were. */
  onChange: () => void;
  warn: (message: string) => void;
};

/** One connection to a server. */
export type Link = {
  client: Client;
  /** Why the connection ended. */
  ended: Promise<string>;
  /** An error of a request, with what the server said when it ended. */
  describe(error: unknown): string;
  close(): Promise<void>;
};

type Opening = Surroundings & { signal: AbortSignal; onListChanged: () => void };

/** Most servers know the handshake of 2025, and those that exit at an unknown request would exit at that of 2026. */
export async function open(name: string, config: McpServerConfig, opening: Opening): Promise<Link> {
  try {
    return await connect(name, config, opening);
  } catch (error) {
    if (!(error instanceof Error) || !isHandshakeRefusal(error.cause)) throw error;
    return await connect(name, config, { ...opening, negotiates: true });
  }
}

async function connect(name: string, config: McpServerConfig, opening: Opening & { negotiates?: true }): Promise<Link> {
  const { signal } = opening;
  await using held = new AsyncDisposableStack();
  const { transport, faultOf } = await transportTo(name, config.transport, opening, held);
  const client = newClient(opening);
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the library has no events
  client.onclose = () => resolve(faultOf() ?? "the connection was closed");
  held.defer(async () => client.close());
  try {
    await client.connect(transport, { signal, timeout: config.startTimeoutMs });
  } catch (error) {
    if (error instanceof KodaError) throw error;
    // Then its fault is known.
    await transport.close();
    throw new Error(faultOf() ?? messageOf(error), { cause: error });
  }
  const closing = held.move();
  return {
    client,
    ended,
    describe: (error) => faultOf() ?? messageOf(error),
    close: async () => closing.disposeAsync(),
  };
}

type Way = { transport: Transport; faultOf: () => string | undefined };

async function transportTo(
  name: string,
  config: McpTransport,
  { env, root, start, egress, mayStart }: Opening,
  held: AsyncDisposableStack,
): Promise<Way> {
  const expanded = (text: string) => expand(text, env, name);
  switch (config.kind) {
    case "stdio": {
      const line: ProgramLine = [expanded(config.command), ...config.args.map(expanded)];
      const own = Object.fromEntries([...config.env].map(([variable, text]) => [variable, expanded(text)]));
      const cwd = config.cwd === undefined ? root : resolvePath(root, expanded(config.cwd));
      await mayStart();
      const transport = new StdioTransport((stderr) => start(line, { cwd, env: own, stderr }));
      return { transport, faultOf: () => transport.fault };
    }
    case "http": {
      const headers = Object.fromEntries([...config.headers].map(([header, text]) => [header, expanded(text)]));
      const fetch = held.use(serverFetch(egress, { current: async () => headers }));
      return { transport: httpTransport(expanded(config.url), fetch), faultOf: () => undefined };
    }
    default:
      return config satisfies never;
  }
}

function expand(text: string, env: Env, server: string): string {
  return expandVariables(text, (variable, fallback) => {
    const value = env[variable] || fallback;
    if (value !== undefined) return value;
    throw new KodaError(
      "config",
      `Cannot start the MCP server "${server}": the environment variable ${variable} is not set (\${${variable}:-DEFAULT} gives a default)`,
    );
  });
}
