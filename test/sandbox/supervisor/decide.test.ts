import { describe, expect, test } from "bun:test";
import { constants } from "node:os";
import { parseAddress } from "../../../lib/sandbox/supervisor/address.ts";
import { decide, mayConnectTo } from "../../../lib/sandbox/supervisor/decide.ts";
import { placeOf } from "../../../lib/sandbox/supervisor/names.ts";
import type { ConnectRules } from "../../../lib/sandbox/supervisor/rules.ts";

const { EACCES, EAFNOSUPPORT, EINVAL, ENOENT } = constants.errno;

function unixAddress(name: string): Uint8Array {
  return Buffer.from(`\x01\0${name}`, "latin1");
}

function inetAddress(host: string, port: number): Uint8Array {
  return Uint8Array.from([2, 0, port >> 8, port & 255, ...host.split(".").map(Number), 0, 0, 0, 0, 0, 0, 0, 0]);
}

function inet6Address(groups: readonly number[], port: number): Uint8Array {
  const bytes = new Uint8Array(28);
  bytes.set([10, 0, port >> 8, port & 255]);
  for (const [index, group] of groups.entries()) bytes.set([group >> 8, group & 255], 8 + 2 * index);
  return bytes;
}

describe("an address is read as the kernel reads it", () => {
  const loopback6 = inet6Address([0, 0, 0, 0, 0, 0, 0, 1], 443);
  const rows: [name: string, bytes: Uint8Array, expected: object | number][] = [
    ["a path that ends with its NUL", unixAddress("/a/b\0rest"), { family: "path", path: "/a/b" }],
    ["a path that ends with the address", unixAddress("/a/b"), { family: "path", path: "/a/b" }],
    ["a path of all 108 bytes", unixAddress("x".repeat(108)), { family: "path", path: "x".repeat(108) }],
    ["a path of one byte more", unixAddress("x".repeat(109)), -EINVAL],
    ["a path that is no text", unixAddress("/\xff\xfe"), { family: "path", path: "/\xff\xfe" }],
    ["a name without a file", unixAddress("\0a\0b"), { family: "abstract", name: "a\0b" }],
    ["no name", unixAddress(""), -EINVAL],
    ["IPv4", inetAddress("127.0.0.1", 8080), { family: "inet", host: "127.0.0.1", port: 8080 }],
    ["IPv4, too short", inetAddress("127.0.0.1", 8080).subarray(0, 15), -EINVAL],
    ["IPv6", loopback6, { family: "inet6", host: "::1", port: 443 }],
    ["IPv6 without a scope", loopback6.subarray(0, 24), { family: "inet6", host: "::1", port: 443 }],
    ["IPv6, too short", loopback6.subarray(0, 23), -EINVAL],
    [
      "IPv4 in the form of IPv6",
      inet6Address([0, 0, 0, 0, 0, 0xffff, 0x7f00, 2], 80),
      { family: "inet6", host: "::ffff:127.0.0.2", port: 80 },
    ],
    ["no family", new Uint8Array(16), { family: "unspecified" }],
    ["another family", Uint8Array.from([16, 0, 0, 0]), -EAFNOSUPPORT],
    ["nothing", new Uint8Array(0), -EINVAL],
    ["half a family", Uint8Array.from([1]), -EINVAL],
    ["more than the kernel takes", new Uint8Array(129), -EINVAL],
  ];
  test.each(rows)("%s", (_, bytes, expected) => {
    const address = parseAddress(bytes);
    if (typeof expected === "number") expect(address).toBe(expected);
    else expect(address).toMatchObject(expected);
  });

  test("the copy does not follow what it was read from", () => {
    const bytes = inetAddress("127.0.0.1", 80);
    const address = parseAddress(bytes);
    bytes[7] = 2;
    expect(address).toMatchObject({ bytes: inetAddress("127.0.0.1", 80) });
  });
});

const rules: ConnectRules = {
  sockets: ["/work/project", "/run/koda-1/tmp"],
  except: ["/work/project/secret"],
  names: [{ from: "/tmp", to: "/run/koda-1/tmp" }],
  tcp: [{ address: "127.0.0.1", port: 3128 }],
  abstract: false,
};

function decided(bytes: Uint8Array, changes: Partial<ConnectRules> = {}) {
  const address = parseAddress(bytes);
  if (typeof address === "number") throw new Error(`No address: ${address}`);
  return decide(address, { cwd: "/work/project" }, { ...rules, ...changes });
}

describe("what is decided", () => {
  test("a listed address is connected to by streams, with exactly the bytes that were read", () => {
    const bytes = inetAddress("127.0.0.1", 3128);
    expect(decided(bytes)).toMatchObject({ do: "connect", bytes, types: [1] });
  });

  test("the address of a caller leads to the listed one at that port, and is the source", () => {
    expect(decided(inetAddress("127.9.2.3", 3128))).toEqual({
      do: "connect",
      bytes: inetAddress("127.0.0.1", 3128),
      from: inetAddress("127.9.2.3", 0),
      types: [1],
    });
  });

  test.each([
    ["the address of a caller at another port", inetAddress("127.9.2.3", 3129), "127.9.2.3:3129"],
    [
      "the address of a caller as IPv6",
      inet6Address([0, 0, 0, 0, 0, 0xffff, 0x7f09, 0x203], 3128),
      "[::ffff:127.9.2.3]:3128",
    ],
    ["another address of this machine", inetAddress("127.0.0.2", 3128), "127.0.0.2:3128"],
    ["another port", inetAddress("127.0.0.1", 3129), "127.0.0.1:3129"],
    ["any address", inetAddress("0.0.0.0", 3128), "0.0.0.0:3128"],
    ["loopback of IPv6", inet6Address([0, 0, 0, 0, 0, 0, 0, 1], 3128), "[::1]:3128"],
    ["the listed one as IPv6", inet6Address([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1], 3128), "[::ffff:127.0.0.1]:3128"],
    ["a name without a file", unixAddress("\0/tmp/dbus"), 'the abstract unix socket "@/tmp/dbus"'],
  ])("%s is refused, and said", (_, bytes, what) => {
    expect(decided(bytes)).toEqual({ do: "refuse", errno: EACCES, what });
  });

  test("an empty list of addresses means none", () => {
    expect(decided(inetAddress("127.0.0.1", 3128), { tcp: [] })).toMatchObject({ do: "refuse" });
  });

  test("where the network decides, every address is connected to, and every name", () => {
    expect(decided(inetAddress("192.0.2.1", 1), { tcp: "any" })).toMatchObject({ do: "connect" });
    expect(decided(unixAddress("\0x"), { abstract: true })).toMatchObject({ do: "connect" });
  });

  test("a relative path begins where the command is", () => {
    expect(decided(unixAddress("s"))).toMatchObject({ do: "find", path: "/work/project/s", types: [1, 5] });
    expect(decided(unixAddress("/s"))).toMatchObject({ do: "find", path: "/s" });
  });

  test("an empty path leads nowhere", () => {
    expect(decide({ family: "path", path: "" }, { cwd: "/" }, rules)).toEqual({ do: "refuse", errno: ENOENT });
  });
});

test.each([
  ["/work/project/s", true],
  ["/work/project/deep/er/s", true],
  ["/run/koda-1/tmp/s", true],
  ["/work/project", false],
  ["/work/project2/s", false],
  ["/work/s", false],
  ["/run/docker.sock", false],
  ["/work/project/secret", false],
  ["/work/project/secret/s", false],
  ["/work/project/secrets", true],
  ["/work/project/.git/s", false],
  ["/work/project/sub/.koda/s", false],
  ["/work/project/.github/s", true],
  ["/s", false],
  ["", false],
])("whether a socket at %j may be connected to: %p", (real, expected) => {
  expect(mayConnectTo(real, rules)).toBe(expected);
});

test("a root within .koda is allowed by its own name", () => {
  expect(mayConnectTo("/home/.koda/tmp/s", { ...rules, sockets: ["/home/.koda/tmp"] })).toBe(true);
});

test("names that are more than ASCII are compared as bytes", () => {
  const real = Buffer.from("/projet/été/s").toString("latin1");
  expect(mayConnectTo(real, { ...rules, sockets: ["/projet/été"] })).toBe(true);
  expect(mayConnectTo(real, { ...rules, sockets: ["/projet"], except: ["/projet/été"] })).toBe(false);
});

test.each([
  ["/usr/s", undefined],
  ["/tmp", "/run/private"],
  // In its parent, which is already the private one.
  ["/tmp/s", undefined],
  ["/tmp/of", "/tmp/of"],
  ["/tmp/of/project", "/tmp/of/project"],
  ["/tmp/of/project/s", undefined],
  ["/tmp/of/other", "/run/private/of/other"],
  ["/tmpfile", undefined],
])("the place on the host of %j is %j", (path, place) => {
  const view = { sockets: ["/tmp/of/project"], names: [{ from: "/tmp", to: "/run/private" }] };
  expect(placeOf(path, view)).toBe(place);
});
