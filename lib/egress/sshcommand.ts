import { shellQuoted, urlAuthority, type ProxyAddress } from "./env.ts";

/** The hidden command of ours that opens a way through the SOCKS proxy. */
export const sshTunnelName = "ssh-tunnel";

/** What ssh runs as its `ProxyCommand`: koda itself, since no other program that could do it is on every machine. */
export function sshTunnelCommand(executable: string, socks: ProxyAddress): string {
  // ssh replaces %h and %p, and takes every other % for one of its own signs.
  const program = shellQuoted(executable).replaceAll("%", "%%");
  return `${program} ${sshTunnelName} --proxy ${urlAuthority(socks)} %h %p`;
}
