import type { Socket } from "node:net";
import { readAuthority } from "../rules/authority.ts";
import { answerTo, rawAnswer, type Answer } from "./answer.ts";
import { farewell } from "./farewell.ts";
import type { Gateway } from "./gateway.ts";
import { reach } from "./reach.ts";
import { relay } from "./relay.ts";

export type ConnectRequest = { authority: string; client: Socket; early: Buffer };

/** CONNECT: the way to a host is opened, and what passes on it is nobody's business. */
export async function connectTunnel({ authority, client, early }: ConnectRequest, gateway: Gateway): Promise<void> {
  const refuse = (answer: Answer) => farewell(client, rawAnswer(answer));
  client.pause();
  // What was sent along with the head belongs into the tunnel.
  if (early.length > 0) client.unshift(early);

  const target = readAuthority(authority);
  if ("fault" in target) return refuse({ status: 400, reason: `CONNECT: ${target.fault}` });

  const stop = () => client.resetAndDestroy();
  const reached = await reach({ target, via: "http", traffic: "tunnel", client, stop }, gateway);
  if ("kind" in reached) return refuse(answerTo(reached));

  client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  relay(client, reached.socket, () => gateway.flows.end(reached.flow));
}
