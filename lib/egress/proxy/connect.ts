import type { Socket } from "node:net";
import { readAuthority } from "../rules/authority.ts";
import { answerTo, rawAnswer, type Answer } from "./answer.ts";
import { endWith } from "./endwith.ts";
import { openFlow, type Gateway } from "./openflow.ts";
import { relay } from "./relay.ts";

type ConnectRequest = { authority: string; client: Socket; early: Buffer };

/** CONNECT: opens a tunnel to a host. The bytes in it are passed on and not looked at. */
export async function connectTunnel({ authority, client, early }: ConnectRequest, gateway: Gateway): Promise<void> {
  const refuse = (answer: Answer) => endWith(client, rawAnswer(answer));
  client.pause();
  // Bytes that came along with the head belong into the tunnel.
  if (early.length > 0) client.unshift(early);

  const target = readAuthority(authority);
  if ("fault" in target) return refuse({ status: 400, reason: `CONNECT: ${target.fault}` });

  const stop = () => client.resetAndDestroy();
  const opened = await openFlow({ target, via: "http", traffic: "tunnel", client, stop }, gateway);
  if ("kind" in opened) return refuse(answerTo(opened));

  client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  relay(client, opened.socket, () => gateway.flows.end(opened.flow));
}
