import { expect, test } from "bun:test";
import { publicAddress, reach, reached, refusal } from "../support/reach.ts";

/** Ways to write an address of this machine, of its network or of its cloud, that some program understands. */
const spellings = [
  ..."127.0.0.1 127.0.0.1. 127.1 127.0.1 127.000.000.001 0177.0.0.1 00000177.0.0.1 0177.1 0x7f.1".split(" "),
  ..."0x7f.0x0.0x0.0x1 0X7F.0.0.1 0x7f000001 0x7F000001 017700000001 2130706433 2130706433. 127.0.0.0x1".split(" "),
  ..."127.0.0.01 127.255.255.254 127.65535 0 0.0.0.0 0. 00 0x0 0x 0.0 256.256.256.256 ４.４.４.４".split(" "),
  ..."１２７.0.0.1 127。0。0。1 127．0．0．1 ①②⑦.⓪.⓪.① 127.0.0.1%00 127.0.0.1\0.example.com".split(" "),
  ..."127.0.0.1#.example.com 127.0.0.1:80@example.com example.com@127.0.0.1 example.com#@127.0.0.1 127%2e0%2e0%2e1".split(
    " ",
  ),
  ..."%31%32%37.0.0.1 [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::1%lo]".split(" "),
  ..."[::1%25lo] [::1%1] [::0.0.0.1] [::] [0::0] [::127.0.0.1] [::7f00:1] [::ffff:127.0.0.1]".split(" "),
  ..."[::FFFF:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] [::ffff:0:127.0.0.1] [::ffff:0.0.0.0]".split(" "),
  ..."[::ffff:0177.0.0.1] [::ffff:169.254.169.254] [64:ff9b::127.0.0.1] [64:ff9b::10.0.0.1]".split(" "),
  ..."[64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2001:0:7f00:1::]".split(" "),
  ..."[fe80::1] [fe80::1%eth0] [fec0::1] [fd00:ec2::254] [fd00:0ec2::0254] [ff02::1] [127.0.0.1]".split(" "),
  ..."[localhost] [[::1]] 169.254.169.254 169.254.43518 0xa9fea9fe 2852039166 0251.0376.0251.0376".split(" "),
  ..."169.254.169.254. 100.100.100.200 168.63.129.16 10.0.0.1 012.0.0.1 10.1 172.16.0.1 192.168.1.1".split(" "),
  ..."192.168.257 100.64.0.1 255.255.255.255 localhost LOCALHOST localhost. a.localhost a.b.localhost.".split(" "),
  ..."ｌocalhost localhoſt localhost.localdomain ip6-localhost ip6-loopback metadata.google.internal".split(" "),
  ..."metadata 127.0.0.1.nip.example localtest.example".split(" "),
  "127.0.0.1 ",
];

/** As a resolver does that reads whatever looks like an address: each of these names leads back here. */
const backHere = () => ["127.0.0.1"];

test.each(spellings)("%j leads nowhere", async (host) => {
  for (const port of [80, 443, 8080]) {
    const authority = `${host}:${port}`;
    expect(await refusal(authority, { mode: "open" }, backHere)).not.toStartWith("connected to");
    expect(await refusal(authority, {}, backHere)).not.toStartWith("connected to");
  }
});

test("the same names are reached when they lead to the Internet, so it is the address that refuses them", async () => {
  const names = ["127.0.0.1.nip.example:443", "localtest.example:443"];
  expect(await reached(names, { mode: "open" })).toEqual(names);
});

test("one forbidden address among others refuses all", async () => {
  const forbidden = ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "169.254.169.254", "::ffff:127.0.0.1"];
  for (const address of forbidden) {
    for (const answer of [
      [publicAddress, address],
      [address, publicAddress],
      [publicAddress, "2606:4700::1111", address],
    ]) {
      expect(await reached(["github.com:443"], {}, () => answer)).toEqual([]);
    }
  }
});

test("an answer that is no strict address refuses all", async () => {
  for (const answer of ["127.1", "fe80::1%eth0", "2130706433", "evil.test", "", "[::1]", `${publicAddress} `, "\r\n"]) {
    const reason = await refusal("github.com:443", {}, () => [publicAddress, answer]);
    expect(reason).toStartWith(`github.com resolves to ${JSON.stringify(answer)}, which is not an IP address`);
  }
});

test("a name is looked up once, and the addresses that were checked are those that are given out", async () => {
  let lookups = 0;
  const rebinding = () => (++lookups === 1 ? [publicAddress, "2606:4700:0:0::1111"] : ["127.0.0.1"]);
  expect(await reach("github.com:443", {}, rebinding)).toEqual({ addresses: [publicAddress, "2606:4700::1111"] });
  expect(lookups).toBe(1);
  expect(await reached(["github.com:443"], {}, rebinding)).toEqual([]);
});

test("a name that is not allowed is not even looked up, for a name can carry data", async () => {
  const asked: string[] = [];
  const answers = (name: string) => {
    asked.push(name);
    return [publicAddress];
  };
  await reached(["c2VjcmV0.evil.test:443", "github.com.evil.test:443", "127.1:80", "8.8.8.8:53"], {}, answers);
  await reached(["github.com:443"], { mode: "none" }, answers);
  await reached(["x.evil.test:443"], { mode: "open", deny: ["*.test"] }, answers);
  expect(asked).toEqual([]);
  await reached(["GitHub.com.:443"], {}, answers);
  expect(asked).toEqual(["github.com"]);
});
