import { describe, expect, test } from "bun:test";
import { parseGreeting, parseRequest } from "../../../lib/egress/socks/request.ts";
import { dialProxy, echo, openProxies, readAll, socksRequest, startOrigin } from "../../support/egress.ts";

const hello = Buffer.of(5, 1, 0);
const port443 = [1, 187] as const;

describe("what is read of a greeting", () => {
  test.each<[name: string, bytes: number[], said: ReturnType<typeof parseGreeting>]>([
    ["nothing", [], undefined],
    ["the version alone", [5], undefined],
    ["a method short", [5, 2, 0], undefined],
    ["two methods", [5, 2, 0, 2], { value: { isSocks5: true, methods: [0, 2] }, length: 4 }],
    ["no method", [5, 0], { value: { isSocks5: true, methods: [] }, length: 2 }],
    ["more than the greeting", [5, 1, 0, 5, 1], { value: { isSocks5: true, methods: [0] }, length: 3 }],
    ["SOCKS4", [4], { value: { isSocks5: false, methods: [] }, length: 1 }],
  ])("%s", (_, bytes, said) => expect(parseGreeting(Buffer.from(bytes))).toEqual(said));
});

describe("what is read of a request", () => {
  const name = (text: string) => [text.length, ...Buffer.from(text, "latin1")];
  const connectTo = (text: string) => ({ kind: "connect", target: { host: { text }, port: 443 } });

  test.each<[name: string, bytes: number[], value: object]>([
    ["a name", [5, 1, 0, 3, ...name("Example.COM."), ...port443], connectTo("example.com")],
    ["an IPv4 address", [5, 1, 0, 1, 93, 184, 216, 34, ...port443], connectTo("93.184.216.34")],
    [
      "an IPv6 address",
      [5, 1, 0, 4, 0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1, ...port443],
      connectTo("2001:db8::1"),
    ],
    ["an address as a name", [5, 1, 0, 3, ...name("93.184.216.34"), ...port443], connectTo("93.184.216.34")],
    ["a short address as a name", [5, 1, 0, 3, ...name("127.1"), ...port443], { kind: "fault" }],
    ["an empty name", [5, 1, 0, 3, 0, ...port443], { kind: "fault" }],
    ["a name with a zero byte", [5, 1, 0, 3, ...name("good.test\0.evil.test"), ...port443], { kind: "fault" }],
    ["a name with a port", [5, 1, 0, 3, ...name("good.test:80"), ...port443], { kind: "fault" }],
    ["a name with a line break", [5, 1, 0, 3, ...name("good.test\r\nX: y"), ...port443], { kind: "fault" }],
    ["a name that is no ASCII", [5, 1, 0, 3, ...name("g\xf6\xf6d.test"), ...port443], { kind: "fault" }],
    ["port 0", [5, 1, 0, 3, ...name("good.test"), 0, 0], { kind: "fault" }],
    ["another version", [4, 1, 0, 3, ...name("good.test"), ...port443], { kind: "fault" }],
    ["a reserved byte that is set", [5, 1, 1, 3, ...name("good.test"), ...port443], { kind: "fault" }],
    ["BIND", [5, 2, 0, 1, 1, 1, 1, 1, ...port443], { kind: "other command" }],
    ["UDP ASSOCIATE", [5, 3, 0, 1, 0, 0, 0, 0, 0, 0], { kind: "other command" }],
    ["another kind of address", [5, 1, 0, 2], { kind: "other address" }],
  ])("%s", (_, bytes, value) => {
    const said = parseRequest(Buffer.from(bytes));
    expect(said?.value).toMatchObject(value);
    expect(said?.length).toBe(bytes.length);
    for (let length = 0; length < bytes.length; length++) {
      expect(parseRequest(Buffer.from(bytes.slice(0, length)))).toBeUndefined();
    }
  });
});

/** Says all this and hears everything up to the end. */
async function say(port: number, ...parts: Uint8Array[]): Promise<number[]> {
  const socket = dialProxy(port);
  socket.write(Buffer.concat(parts));
  return [...(await readAll(socket))];
}

describe("the SOCKS5 proxy", () => {
  const refusal = (code: number) => [5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0];

  test("has no method with credentials", async () => {
    await using opened = await openProxies([]);
    expect(await say(opened.proxies.socksPort, Buffer.of(5, 1, 2))).toEqual([5, 0xff]);
  });

  test("says nothing to another protocol", async () => {
    await using opened = await openProxies([]);
    const said = say(opened.proxies.socksPort, Buffer.from("GET / HTTP/1.1\r\n\r\n")).catch(() => []);
    expect(await said).toEqual([]);
  });

  test.each([
    ["BIND", socksRequest("origin.test", 443, 2), 7],
    ["UDP ASSOCIATE", socksRequest("origin.test", 443, 3), 7],
    ["another kind of address", Buffer.of(5, 1, 0, 9, 1, 1), 8],
    ["a name that is none", socksRequest("a b", 443), 1],
    ["a host that is not allowed", socksRequest("evil.test", 443), 2],
    ["an address that is not allowed", Buffer.of(5, 1, 0, 1, 127, 0, 0, 1, ...port443), 2],
    [
      "an IPv4 address inside an IPv6 address",
      Buffer.of(5, 1, 0, 4, ...Array(10).fill(0), 255, 255, 127, 0, 0, 1, ...port443),
      2,
    ],
  ])("answers %s with its number", async (_, request, code) => {
    await using opened = await openProxies([]);
    expect(await say(opened.proxies.socksPort, hello, request)).toEqual(refusal(code));
  });

  test("connects to an address that is allowed exactly", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port]);
    const socket = dialProxy(opened.proxies.socksPort);
    socket.write(Buffer.of(5, 2, 2, 0, 5, 1, 0, 1, 127, 0, 0, 1, origin.port >> 8, origin.port & 0xff));
    socket.end("hello");
    expect((await readAll(socket)).toString("latin1")).toEndWith("hello");
    expect(opened.requests).toEqual([{ via: "socks", host: "127.0.0.1", port: origin.port, verdict: "allowed" }]);
  });
});
