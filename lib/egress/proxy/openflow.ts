import type { Socket } from "node:net";
import { callerOf } from "../caller.ts";
import { permitted } from "../permission.ts";
import { failureOf, route, type Route, type RouteFailure, type RouteTraffic } from "../route/route.ts";
import { authorityOf } from "../rules/authority.ts";
import type { HostPort } from "../rules/host.ts";
import type { EgressRequest, WayOut } from "../wayout.ts";
import type { Flow, Flows, ProxyLimits } from "./flows.ts";

/** Everything that the connections of a session's proxies share. */
export type Gateway = WayOut & { readonly limits: ProxyLimits; readonly flows: Flows };

/** May the client use the proxy at all? */
export type Admission = (client: Socket) => boolean;

type FlowRequest = {
  target: HostPort;
  via: EgressRequest["via"];
  traffic: RouteTraffic;
  client: Socket;
  /** Ends the flow before its time. */
  stop: (why: string) => void;
};

export type OpenFlow = Route & { flow: Flow };

/** The only way out: asks the rules, connects, and reports the outcome. */
export async function openFlow(request: FlowRequest, gateway: Gateway): Promise<OpenFlow | RouteFailure> {
  const { target, via, client } = request;
  const caller = callerOf(client);
  const asked = { via, host: target.host.text, port: target.port, ...(caller !== undefined && { caller }) };
  const outcome = await withinLimit(request, gateway);
  if (!("kind" in outcome)) gateway.onRequest({ ...asked, verdict: "allowed" });
  else gateway.onRequest({ ...asked, verdict: outcome.kind === "rule" ? "refused" : "failed", reason: outcome.reason });
  return outcome;
}

async function withinLimit(request: FlowRequest, gateway: Gateway): Promise<OpenFlow | RouteFailure> {
  const flow = gateway.flows.start(request.client, request.stop);
  if (flow === undefined) {
    return { kind: "full", reason: `${gateway.limits.flows} connections are open already; close some and try again` };
  }
  const outcome = await connection(request, gateway);
  if ("kind" in outcome) {
    gateway.flows.end(flow);
    return outcome;
  }
  flow.sockets.push(outcome.socket);
  return { ...outcome, flow };
}

async function connection(request: FlowRequest, gateway: Gateway): Promise<Route | RouteFailure> {
  const { target, client } = request;
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
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    if (client.destroyed) leave();
    const way = await permitted({ target, caller: callerOf(client) }, gateway, controller.signal);
    if ("reason" in way) return { kind: "rule", reason: way.reason };
    timer = setTimeout(late, connectMs);
    const outcome = await route(request, way, controller.signal);
    if (!("kind" in outcome) && client.destroyed) outcome.socket.destroy();
    return outcome;
  } catch (error) {
    return failure ?? failureOf(error, target);
  } finally {
    clearTimeout(timer);
    client.off("close", leave);
  }
}
