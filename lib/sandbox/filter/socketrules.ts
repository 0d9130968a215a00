import { allow, type Case, type Check, notify, refuse } from "./bpf.ts";
import { allowed, type NamedRule, noSuchFamily, noSuchProtocol, notAllowed, notPermitted, refusing } from "./rule.ts";

export type SocketOptions = {
  /** "tcp": TCP and what looks names up; "none": no sockets but those of this machine. */
  network: "tcp" | "none";
  /** Asks the supervisor about every connect() and listen(). */
  supervise: boolean;
};

const [unix, inet, inet6, netlink] = [1, 2, 10, 16] as const;
const [stream, wholeMessages] = [1, 5] as const;
const typeBits = 0xf;
const [anyProtocol, tcp] = [0, 6] as const;
const fastOpen = 0x2000_0000;

const isFamily = (is: number): Check => ({ argument: 0, is });
const isType = (is: number): Check => ({ argument: 1, mask: typeBits, is });
const isProtocol = (is: number): Check => ({ argument: 2, is });

export function socketRules({ supervise, ...options }: SocketOptions): NamedRule[] {
  return [
    // It connects without a connect() that anything else would see.
    refusing("sendto", { argument: 3, hasAny: fastOpen }),
    refusing("sendmsg", { argument: 2, hasAny: fastOpen }),
    refusing("sendmmsg", { argument: 3, hasAny: fastOpen }),
    { call: "connect", otherwise: supervise ? notify : allow },
    { call: "listen", otherwise: supervise ? notify : allow },
    socketPairs,
    sockets(options),
  ];
}

/** Only the types that must connect before they can send: for unix sockets, raw is another word for datagram. */
const connectedUnix: readonly Case[] = [stream, wholeMessages].map((type) => allowed(isFamily(unix), isType(type)));

/** A pair stays within the process and its children; but datagram ones can be connected again, to anything. */
const socketPairs: NamedRule = {
  call: "socketpair",
  cases: [...connectedUnix, notAllowed(isFamily(unix))],
  otherwise: refuse(noSuchFamily),
};

/** Sockets that may be opened are listed; of all others the family does not exist. */
function sockets({ network }: Pick<SocketOptions, "network">): NamedRule {
  return {
    call: "socket",
    cases: [
      // Which addresses this machine has: name look-ups ask for that. Other protocols of netlink change things.
      allowed(isFamily(netlink), isProtocol(anyProtocol)),
      ...connectedUnix,
      ...(network === "tcp" ? [...internet(inet), ...internet(inet6)] : []),
    ],
    otherwise: refuse(noSuchFamily),
  };
}

/** TCP alone: not UDP, which needs no connect(), and not MPTCP or SCTP, which have one of their own. */
function internet(family: number): Case[] {
  const isStream = [isFamily(family), isType(stream)];
  return [
    ...[anyProtocol, tcp].map((protocol) => allowed(...isStream, isProtocol(protocol))),
    { when: isStream, verdict: refuse(noSuchProtocol) },
    { when: [isFamily(family)], verdict: refuse(notPermitted) },
  ];
}
