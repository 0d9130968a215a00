import { resolve as resolvePath } from "node:path";
import type { McpServerConfig } from "../config/config.ts";
import type { Env } from "../config/paths.ts";
import { formatDuration } from "../config/units.ts";
import type { WayOut } from "../egress/wayout.ts";
import { KodaError } from "../errors.ts";
import { sanitize } from "../model/errorbody.ts";
import { shortened } from "../session/graphemes.ts";
import { isNamedSecret } from "../shell/env.ts";
import type { PipedProgram } from "../shell/piped.ts";
import type { OpenOptions } from "../shell/shell.ts";
import type { ProgramLine } from "../shell/program.ts";
import { answerFault } from "./answerfault.ts";
import {
  changing,
  type Client,
  type ClientOptions,
  httpTransport,
  isHandshakeRefusal,
  isTimeout,
  newClient,
  type Transport,
} from "./client.ts";
import { type Expansion, expansionFor } from "./expansion.ts";
import { serverFetch } from "./fetch.ts";
import { serverHeaders } from "./headers.ts";
import { lenient } from "./lenient.ts";
import { StdioTransport } from "./stdio.ts";

/** All that servers share: the way to start programs and to reach hosts, and who hears of them. */
export type ServerContext = {
  version: string;
  root: string;
  env: Env;
  /** Starts a program in the sandbox. */
  start: (line: ProgramLine, options: Pick<OpenOptions, "cwd" | "env" | "stderr">) => PipedProgram;
  egress: WayOut;
  /** Directories that commands may write to: a program for headers is never run from there. */
  writable: readonly string[];
  /** The user can be asked in the name of a server. */
  canElicit: boolean;
  /** Settles when a server may be started that could write. */
  mayStart: () => Promise<void>;
  warn: (message: string) => void;
};

/** One connection to a server. */
export type ServerConnection = {
  client: Client;
  /** Why the connection ended. */
  ended: Promise<string>;
  /** An error of a request, with what the server said when it ended. */
  describe(error: unknown): string;
  close(): Promise<void>;
};

type ConnectionOptions = ServerContext & { signal: AbortSignal } & Pick<ClientOptions, "onListChanged" | "onElicit">;

/** Most servers know the handshake of 2025, and those that exit at an unknown request would exit at that of 2026. */
export async function openConnection(
  name: string,
  config: McpServerConfig,
  options: ConnectionOptions,
): Promise<ServerConnection> {
  try {
    return await connect(name, config, options);
  } catch (error) {
    if (!(error instanceof Error) || !isHandshakeRefusal(error.cause)) throw error;
    return await connect(name, config, { ...options, negotiates: true });
  }
}

async function connect(
  name: string,
  config: McpServerConfig,
  options: ConnectionOptions & { negotiates?: true },
): Promise<ServerConnection> {
  const { signal } = options;
  await using held = new AsyncDisposableStack();
  const expansion = expansionFor(name, options.env);
  const { transport, faultOf } = await transportTo(name, { config, expansion }, options, held);
  const { secrets } = expansion;
  const describe = (error: unknown) => shortened(secrets.hide(faultOf() ?? answerFault(error)), longestError);
  const client = newClient(options);
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the library has no events
  client.onclose = () => resolve(describe("the connection was closed"));
  held.defer(async () => client.close());
  try {
    await client.connect(
      changing(transport, (message) => secrets.mask(lenient(message))),
      { signal, timeout: config.startTimeoutMs },
    );
  } catch (error) {
    if (error instanceof KodaError) throw new KodaError(error.code, sanitize(error.message, secrets.texts));
    // Then its fault is known.
    await transport.close();
    const late = `it did not answer within ${formatDuration(config.startTimeoutMs)} (start_timeout)`;
    throw new Error(sanitize(describe(isTimeout(error) ? late : error), secrets.texts), { cause: error });
  }
  const closing = held.move();
  return {
    client,
    ended,
    describe,
    close: async () => closing.disposeAsync(),
  };
}

/** The model reads it, and may learn from it how to call the tool. */
const longestError = 4_000;

type Way = { transport: Transport; faultOf: () => string | undefined };

type Wanted = { config: McpServerConfig; expansion: Expansion };

async function transportTo(
  name: string,
  { config: { transport: config, isProjects }, expansion }: Wanted,
  { env, root, start, egress, mayStart, writable, signal }: ConnectionOptions,
  held: AsyncDisposableStack,
): Promise<Way> {
  switch (config.kind) {
    case "stdio": {
      const line: ProgramLine = [expansion.text(config.command), ...config.args.map((text) => expansion.text(text))];
      const own = [...config.env].map(([variable, text]) => [
        variable,
        expansion.text(text, { isSecret: isNamedSecret(variable) }),
      ]);
      const cwd = config.cwd === undefined ? root : resolvePath(root, expansion.text(config.cwd));
      await mayStart();
      const options = { cwd, env: Object.fromEntries(own) };
      const transport = new StdioTransport((stderr) => start(line, { ...options, stderr }));
      return { transport, faultOf: () => transport.fault };
    }
    case "http": {
      const url = expansion.text(config.url);
      // The library's error would repeat it.
      if (!URL.canParse(url))
        throw new KodaError("config", 'its "url" is not an address when its variables are replaced');
      const headers = serverHeaders(config, expansion, { server: name, env, writable, signal });
      let fault: string | undefined;
      const onBroken = (reason: string) => {
        fault = reason;
        void transport.close();
      };
      const fetch = held.use(serverFetch({ egress, isUsers: !isProjects, onBroken }, headers));
      const transport = httpTransport(url, fetch);
      return { transport, faultOf: () => fault };
    }
    default:
      return config satisfies never;
  }
}
