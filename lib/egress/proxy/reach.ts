import type { Socket } from "node:net";
import { callerOf } from "../caller.ts";
import { failureOf, route, type RouteFailure, type Route, type Traffic } from "../route/route.ts";
import { authorityOf } from "../rules/authority.ts";
import type { HostPort } from "../rules/host.ts";
import type { Flow } from "./flows.ts";
import type { Gateway } from "./gateway.ts";

export type Wish = {
  target: HostPort;
  via: "http" | "socks";
  traffic: Traffic;
  client: Socket;
  /** What to do when the flow has to end before its time. */
  stop: (why: string) => void;
};

export type OpenFlow = Route & { flow: Flow };

/** The only way out: the rules first, then the connection, and everything that came of it is told. */
export async function reach(wish: Wish, gateway: Gateway): Promise<OpenFlow | RouteFailure> {
  const { target, via, client } = wish;
  const caller = callerOf(client);
  const asked = { via, host: target.host.text, port: target.port, ...(caller !== undefined && { caller }) };
  const outcome = await attempt(wish, gateway);
  if (!("kind" in outcome)) gateway.onRequest({ ...asked, verdict: "allowed" });
  else gateway.onRequest({ ...asked, verdict: outcome.kind === "rule" ? "refused" : "failed", reason: outcome.reason });
  return outcome;
}

async function attempt(wish: Wish, gateway: Gateway): Promise<OpenFlow | RouteFailure> {
  const flow = gateway.flows.start(wish.client, wish.stop);
  if (flow === undefined) {
    return { kind: "full", reason: `${gateway.limits.flows} connections are open already; close some and try again` };
  }
  const outcome = await connection(wish, gateway);
  if ("kind" in outcome) {
    gateway.flows.end(flow);
    return outcome;
  }
  flow.sockets.push(outcome.socket);
  return { ...outcome, flow };
}

async function connection(wish: Wish, gateway: Gateway): Promise<Route | RouteFailure> {
  const { target, client } = wish;
  const { connectMs } = gateway.limits;
  const controller = new AbortController();
  let failure: RouteFailure | undefined;
  const giveUp = (kind: RouteFailure["kind"], why: string) => {
    failure = { kind, reason: why };
    controller.abort();
  };
  const leave = () => giveUp("broken", `the client left before ${authorityOf(target)} answered`);
  client.once("close", leave);
  // Cleared when there is an answer: a signal's own timer would be held, with all of this, for as long as it runs.
  const late = () => giveUp("late", `${authorityOf(target)} did not answer within ${connectMs / 1000} s`);
  const timer = setTimeout(late, connectMs);
  try {
    if (client.destroyed) leave();
    const outcome = await route(wish, gateway, controller.signal);
    if (!("kind" in outcome) && client.destroyed) outcome.socket.destroy();
    return outcome;
  } catch (error) {
    return failure ?? failureOf(error, target);
  } finally {
    clearTimeout(timer);
    client.off("close", leave);
  }
}
