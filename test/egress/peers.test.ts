import { describe, expect, test } from "bun:test";
import { chain, UpstreamFailure } from "../../lib/egress/route/chain.ts";
import { parseUpstream } from "../../lib/egress/route/upstream.ts";
import { parseAuthority } from "../../lib/egress/rules/host.ts";
import { echo, startOrigin } from "../support/egress.ts";
import { isMissing, microsocks, squid, startPeer, tinyproxy, type Peer } from "../support/peers.ts";

/** The user's own proxy: what it takes and says is not what we imagined. */
type Upstream = Peer & { scheme: "http" | "socks5h"; credentials: string };

const peers: readonly Upstream[] = [
  { program: "squid", scheme: "http", credentials: "", args: squid },
  {
    program: "tinyproxy",
    scheme: "http",
    credentials: "user:%70ass@",
    args: (place) => tinyproxy(place, "BasicAuth user pass\n"),
  },
  {
    program: "microsocks",
    scheme: "socks5h",
    credentials: "user:p%40ss@",
    args: (place) => [...microsocks(place), "-u", "user", "-P", "p@ss"],
  },
];

for (const peer of peers) {
  const { program, scheme, credentials } = peer;
  describe.skipIf(isMissing(peer))(`${program} as the user's own proxy`, () => {
    const through = (port: number, who: string) => {
      const proxy = parseUpstream({ HTTPS_PROXY: `${scheme}://${who}127.0.0.1:${port}` })?.tunnel;
      if (proxy === undefined) throw new Error("there is no proxy in the URL");
      // This machine is never reached through a proxy; what the proxy is asked for is the same.
      return (target: number) => {
        const wish = parseAuthority(`127.0.0.1:${target}`);
        if ("fault" in wish) throw new Error(wish.fault);
        return chain(wish, proxy, AbortSignal.timeout(20_000));
      };
    };

    test("opens a tunnel, on which all bytes pass", async () => {
      await using there = await startPeer(peer);
      await using origin = await startOrigin(echo);
      const socket = await through(there.httpPort, credentials)(origin.port);
      const data = Buffer.alloc(5_000_000, "0123456789abcdef!");
      socket.write(data);
      let heard = Buffer.alloc(0);
      const whole = Promise.withResolvers<void>();
      socket.on("data", (chunk: Buffer) => {
        heard = Buffer.concat([heard, chunk]);
        if (heard.length >= data.length) whole.resolve();
      });
      await whole.promise;
      expect(heard.equals(data)).toBe(true);
      socket.destroy();
    });

    test.skipIf(credentials === "")("refuses wrong credentials, and is named", async () => {
      await using there = await startPeer(peer);
      const failure = await through(there.httpPort, "user:wrong@")(9).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(UpstreamFailure);
      expect(String(failure)).toContain(`127.0.0.1:${there.httpPort}`);
      expect(String(failure)).not.toContain("wrong");
    });

    test("cannot reach a port where nobody listens, and is named", async () => {
      await using there = await startPeer(peer);
      const origin = await startOrigin(echo);
      await origin[Symbol.asyncDispose]();
      const failure = await through(there.httpPort, credentials)(origin.port).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(UpstreamFailure);
      expect(String(failure)).toContain(`127.0.0.1:${there.httpPort}`);
    });
  });
}
