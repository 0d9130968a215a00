import { describe, expect, test } from "bun:test";
import { Egress } from "../../lib/conversation/workspace/egress.ts";
import { ask, echo, startOrigin, ways, type Ports } from "../support/egress.ts";
import { evaluateAsNobody, isRoot } from "../support/nobody.ts";
import { binary } from "../support/koda.ts";
import { firstLine } from "../support/proxyprocess.ts";
import { makePlace, type Place } from "../support/place.ts";

/** `koda proxy` of a user, with all that it logs. */
async function startProxyOf(place: Place, uid: number, args: readonly string[]) {
  const user = uid === 0 ? [] : ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  const child = Bun.spawn([...user, binary, "proxy", "--json", ...args], {
    cwd: "/",
    env: { ...place.env, HOME: "/nonexistent", XDG_CONFIG_HOME: "/nonexistent", XDG_DATA_HOME: "/nonexistent" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const said = JSON.parse(await firstLine(child.stdout)) as { http_port: number; socks_port: number };
  return {
    ports: { httpPort: said.http_port, socksPort: said.socks_port },
    async end() {
      child.kill();
      return await child.stderr.text();
    },
  };
}

/** The beginning of the answer to a request for a tunnel, in hexadecimal, by a process of the user nobody. */
async function answerToNobody(port: number, hello: readonly Buffer[]): Promise<string> {
  const script = `
    const { connect } = await import("node:net");
    const answer = new Promise((resolve) => {
      const socket = connect({ port: input.port, host: input.host });
      let said = "";
      socket.on("error", () => resolve(said)).on("close", () => resolve(said));
      socket.on("data", (chunk) => { said += chunk.toString("hex"); socket.destroy(); });
      for (const part of input.hello) socket.write(Buffer.from(part, "hex"));
    });`;
  const said = await evaluateAsNobody(script, {
    port,
    host: "127.0.0.1",
    hello: hello.map((part) => part.toString("hex")),
  });
  return String(said);
}

const stranger = 4_242;
/** The beginnings of answers, in hexadecimal; SOCKS5 agrees to the method or to none. */
const hex = (text: string) => Buffer.from(text, "latin1").toString("hex");
const refusals = { CONNECT: hex("HTTP/1.1 403 "), SOCKS5: "05ff" };
const consents = { CONNECT: hex("HTTP/1.1 200 "), SOCKS5: "0500" };

describe.skipIf(!isRoot)("on loopback", () => {
  test.each(ways)("another user gets no tunnel by $name, and the same user and root do", async (way) => {
    await using place = makePlace();
    await using origin = await startOrigin(echo);
    const args = ["--allow-net", `127.0.0.1:${origin.port}`];
    const hello = way.hello("127.0.0.1", origin.port);
    const portOf = (ports: Ports) => way.port(ports);

    const others = await startProxyOf(place, stranger, args);
    const name = way.name === "CONNECT" ? "CONNECT" : "SOCKS5";
    expect(await answerToNobody(portOf(others.ports), hello)).toStartWith(refusals[name]);
    const asRoot = await ask(way, others.ports, origin.port, { host: "127.0.0.1" });
    expect(way.isYes(asRoot.said)).toBe(true);
    asRoot.socket.destroy();
    const via = name === "CONNECT" ? "http" : "socks";
    expect(await others.end()).toBe(`allowed ${via} 127.0.0.1:${origin.port}\n`);

    const own = await startProxyOf(place, 65_534, args);
    expect(await answerToNobody(portOf(own.ports), hello.slice(0, 1))).toStartWith(consents[name]);
    await own.end();
  });

  test("another user gets nowhere by the proxies of the Landlock tier either", async () => {
    await using origin = await startOrigin(echo);
    const allow = [`127.0.0.1:${origin.port}`];
    const unexpected = (error: unknown) => expect(error).toBeUndefined();
    await using egress = new Egress({
      config: { mode: "allowlist", allow, deny: [] },
      env: {},
      onRequest() {},
      onFailure: unexpected,
    });
    const [http, socks] = await egress.listenHere();
    const ports = { httpPort: http?.port ?? 0, socksPort: socks?.port ?? 0 };
    for (const way of ways) {
      const name = way.name === "CONNECT" ? "CONNECT" : "SOCKS5";
      const hello = way.hello("127.0.0.1", origin.port);
      expect(await answerToNobody(way.port(ports), hello)).toStartWith(refusals[name]);
      const own = await ask(way, ports, origin.port, { host: "127.0.0.1" });
      expect(way.isYes(own.said)).toBe(true);
      own.socket.destroy();
    }
  });
});
