import { describe, expect, test } from "bun:test";
import { cases, failuresOf } from "../support/comparison.ts";
import { connectWay, openProxies, socksWay } from "../support/egress.ts";
import { danted, isMissing, microsocks, squid, startPeer, tinyproxy, type Peer } from "../support/peers.ts";

const comparisons: readonly { way: typeof connectWay; peers: Peer[] }[] = [
  {
    way: connectWay,
    peers: [
      { program: "squid", args: squid },
      { program: "tinyproxy", args: tinyproxy },
    ],
  },
  {
    way: socksWay,
    peers: [
      { program: "microsocks", args: microsocks },
      { program: "danted", args: danted },
    ],
  },
];

describe.each([...comparisons])("$way.name", ({ way, peers }) => {
  let asked: ReturnType<typeof failuresOf> | undefined;
  const failuresOfKoda = async () =>
    await (asked ??= failuresOf(way, {
      patienceMs: 120_000,
      start: async (ports) => {
        const { proxies } = await openProxies(ports);
        return proxies;
      },
    }));

  test("koda does all that is expected of a proxy", async () => {
    expect([...(await failuresOfKoda())]).toEqual([]);
  }, 300_000);

  for (const peer of peers) {
    test.skipIf(isMissing(peer))(
      `koda does whatever ${peer.program} does`,
      async () => {
        const theirs = await failuresOf(way, {
          // Some hang for ever; a slow one is only not compared.
          patienceMs: 2_000,
          start: () => startPeer(peer),
        });
        for (const [name, reason] of theirs) console.error(`${peer.program} fails: ${name}: ${reason}`);
        const does = cases.map(({ name }) => name).filter((name) => !theirs.has(name));
        const ours = await failuresOfKoda();
        expect(does.filter((name) => ours.has(name))).toEqual([]);
        // A peer that can do nothing was not started as it should be.
        expect(does).toContain("plain exchange");
      },
      300_000,
    );
  }
});
