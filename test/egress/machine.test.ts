import { expect, test } from "bun:test";
import { resolve } from "node:path";
import { firstLine } from "../support/proxyprocess.ts";
import { makePlace } from "../support/place.ts";

/**
 * A network namespace with public addresses of its own: of an interface with a carrier and of one without, of a range
 * that is routed to the machine, of an IPv6 network on the link, and of one that is behind a gateway.
 */
const network = [
  "ip link set lo up",
  "ip link add up0 type veth peer name up1",
  "ip link set up0 up && ip link set up1 up",
  "ip link add idle0 type veth peer name idle1",
  "ip link set idle0 up",
  "ip addr add 93.184.216.34/24 dev up0",
  "ip -6 addr add 2606:4700::5/128 dev up0 nodad",
  "ip -6 route add 2606:4700:0:7::/64 dev up0",
  "ip -6 route add 2606:4700:0:8::/64 via fe80::1 dev up0",
  "ip -6 route add 2000::/3 dev up0",
  "ip addr add 93.184.217.34/24 dev idle0",
  "ip route add local 93.184.218.0/24 dev lo",
];
const inNetwork = [
  "unshare",
  "--user",
  "--map-root-user",
  "--net",
  "sh",
  "-ec",
  `${network.join("\n")}\nexec "$@"`,
  "sh",
];
const canMake = Bun.which("ip") !== null && Bun.spawnSync([...inNetwork, "true"]).exitCode === 0;

const own = "an address of this machine";
const neighbour = "an address of this machine's network";
const program = resolve("test/support/machine-program.ts");

test.skipIf(!canMake)("with --net open neither this machine nor its network is public", async () => {
  await using place = makePlace();
  const child = Bun.spawn([...inNetwork, process.execPath, program], {
    env: place.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const answers = JSON.parse(await firstLine(child.stdout)) as Record<string, string>;
  expect(await child.exited).toBe(0);
  expect(answers).toEqual({
    "93.184.216.34": own,
    "[::ffff:93.184.216.34]": own,
    "[64:ff9b::93.184.216.34]": own,
    "93.184.217.34": own,
    "93.184.218.9": own,
    "[2606:4700::5]": own,
    "[2606:4700:0:7::1]": neighbour,
    // The controls: strangers, one behind a gateway, and this machine when a rule names it.
    "93.184.216.35": "public",
    "93.184.219.1": "public",
    "[2606:4700:0:8::1]": "public",
    "[2606:4701::1]": "public",
    "93.184.216.34, allowed": "reached",
  });
});
