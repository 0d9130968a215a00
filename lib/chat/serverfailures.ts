import type { Event, EventOf } from "../engine/event.ts";

type Statuses = Readonly<EventOf<"session.start">["mcp"]>;

/** Tells once of each MCP server that fails. Those that have failed at the start stand in `session.start`. */
export class ServerFailures {
  #told = new Set<string>();

  startedWith(servers: Statuses): void {
    this.#told = new Set(failed(servers).map(({ name }) => name));
  }

  *in(servers: Statuses): Generator<Event, void> {
    const found = failed(servers);
    for (const server of found)
      if (!this.#told.has(server.name))
        yield { type: "notice", level: "warn", code: "mcp", message: describeFailure(server) };
    this.#told = new Set(found.map(({ name }) => name));
  }
}

/** The same as messages. */
export function serverFailures(servers: Statuses): string[] {
  return failed(servers).map(describeFailure);
}

function failed(servers: Statuses): Statuses {
  return servers.filter(({ status }) => status === "failed");
}

function describeFailure({ name, error = "" }: Statuses[number]): string {
  return `The MCP server "${name}" failed: ${error}`;
}
