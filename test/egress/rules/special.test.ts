import { expect, test } from "bun:test";
import { reached, refusal } from "../../support/reach.ts";

const open = { mode: "open" } as const;

/** The first and the last address of each range, and what it is called. */
const ranges: Readonly<Record<string, string>> = {
  "0.0.0.0": "an unspecified address",
  "0.0.0.1 0.255.255.255": "an address of this network",
  "127.0.0.0 127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1": "a loopback address",
  "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255": "a private address",
  "fc00:: fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ::ffff:10.0.0.1 64:ff9b::a00:1": "a private address",
  "169.254.0.0 169.254.170.2 169.254.255.255 fe80::1 febf::1 ::ffff:169.254.0.1": "a link-local address",
  "fec0:: feff:ffff::": "a site-local address",
  "100.64.0.0 100.127.255.255 ::ffff:100.64.0.1": "an address shared by a carrier's customers",
  "192.0.0.0 192.0.0.255 192.88.99.1": "an address for protocols",
  "192.0.2.0 192.0.2.255 198.51.100.1 203.0.113.1 2001:db8:: 3fff::1": "an address for documentation",
  "198.18.0.0 198.19.255.255 2001:2::1": "an address for benchmarks",
  "224.0.0.1 239.255.255.255 ff00:: ff02::1 ffff::": "a multicast address",
  "240.0.0.0 255.255.255.254": "a reserved address",
  "255.255.255.255": "the broadcast address",
  "169.254.169.254 100.100.100.200 168.63.129.16 fd00:ec2::254": "a cloud metadata address",
  "::ffff:169.254.169.254 64:ff9b::a9fe:a9fe ::ffff:100.100.100.200": "a cloud metadata address",
  "::": "an unspecified address",
  "::2 ::7f00:1 ::808:808 1:: 200:: 4000:: 8000:: e000:: fe00::": "a reserved address",
  "::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8": "an IPv4-translated address",
  "64:ff9b:1:: 64:ff9b:1:ffff::": "a NAT64 address of this network",
  "2002:: 2002:7f00:1:: 2002:808:808:: 2002:ffff::": "a 6to4 address",
  "2001:: 2001:0:ffff::": "a Teredo address",
  "2001:10:: 2001:1f:: 2001:20:: 2001:2f::": "an ORCHID identifier",
  "2001:1::1 2001:30:: 2001:1ff::": "an address for protocols",
  "100:: 100::ffff:ffff:ffff:ffff": "a discard address",
  "5f00:: 5f00:ffff::": "a segment routing address",
};

const cases = Object.entries(ranges).flatMap(([addresses, use]) =>
  addresses.split(" ").map((one) => [one, use] as const),
);

test.each(cases)("a name that resolves to %s is refused: %s", async (address, use) => {
  const whole = await refusal("name.example.com:443", open, () => [address]);
  expect(whole).toStartWith("name.example.com resolves to ");
  expect(whole).toContain(`, which is ${use}`);
});

test.each(cases)("%s itself is refused: %s", async (address, use) => {
  const authority = address.includes(":") ? `[${address}]:443` : `${address}:443`;
  expect(await refusal(authority, open)).toContain(` is ${use}`);
});

test("an address inside another one is named", async () => {
  expect(await refusal("[::ffff:127.0.0.1]:443", open)).toContain("a loopback address (127.0.0.1)");
  expect(await refusal("[2002:a00:1::]:443", open)).toContain("a 6to4 address (10.0.0.1)");
});

test("the neighbours of the ranges are public", async () => {
  const neighbours = [
    ..."1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0".split(" "),
    ..."168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0".split(" "),
    ..."192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255".split(" "),
    ..."2000:: 2001:200:: 2001:db7:: 2001:db9:: 2003:: 2606:4700::1111 3ffe:: 3fff:1000:: 64:ff9b::808:808".split(" "),
    ..."::ffff:8.8.8.8".split(" "),
  ];
  for (const address of neighbours) {
    expect(await reached([`public-${neighbours.indexOf(address)}.test:443`], open, () => [address])).toHaveLength(1);
  }
});

test("a special address is reached by a pattern of its own, and by a name only if that is allowed too", async () => {
  const answers = () => ["10.1.2.3"];
  expect(await reached(["10.1.2.3:8080"], { allow: ["10.1.2.3:8080"] })).toHaveLength(1);
  expect(await reached(["db.test:8080"], { allow: ["10.1.2.3:8080"] }, answers)).toHaveLength(0);
  expect(await reached(["db.test:8080"], { allow: ["db.test:8080"] }, answers)).toHaveLength(0);
  expect(await reached(["db.test:8080"], { allow: ["db.test:8080", "10.1.2.3"] }, answers)).toHaveLength(0);
  expect(await reached(["db.test:8080"], { allow: ["db.test:8080", "10.1.2.3:8080"] }, answers)).toHaveLength(1);
});

test("a pattern of an address is no pattern of what stands for it", async () => {
  const allow = ["127.0.0.1"];
  const forms = ["[::ffff:127.0.0.1]:80", "[64:ff9b::7f00:1]:80", "[::1]:80", "127.0.0.2:80"];
  expect(await reached(forms, { allow })).toEqual([]);
  expect(await reached(forms, { mode: "open", allow })).toEqual([]);
});
