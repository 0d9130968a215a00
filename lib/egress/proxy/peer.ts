import type { Socket } from "node:net";
import { ownerOfSocket, type SocketEnd } from "../../system/socketowner.ts";
import { parseIpAddress } from "../rules/address.ts";
import { reachedBy } from "../rules/special.ts";

/**
 * Is the client a process of this user, or of root? On loopback every user of the machine could otherwise go out with
 * the allowances of this one, and with the credentials for their upstream proxy.
 */
export function isOwnClient({ remoteAddress, remotePort, localAddress, localPort }: Socket): boolean {
  const [client, proxy] = [endOf(remoteAddress, remotePort), endOf(localAddress, localPort)];
  if (client === undefined || proxy === undefined) return false;
  const owner = ownerOfSocket(client, proxy);
  return owner !== undefined && (owner === 0 || owner === process.geteuid?.());
}

function endOf(text: string | undefined, port: number | undefined): SocketEnd | undefined {
  const address = parseIpAddress(text ?? "");
  return address === undefined || port === undefined ? undefined : { address: reachedBy(address), port };
}
