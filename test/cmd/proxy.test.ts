import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import { ask, connectWay, dialProxy, echo, readAll, socksWay, startOrigin } from "../support/egress.ts";
import { makePlace, type Place } from "../support/place.ts";
import { spawnIn } from "../support/run.ts";

type Answer = { http_port: number; socks_port: number; env: Record<string, string> };

/** `koda proxy` as it runs; `said` is what it prints until it listens. */
async function startProxy(place: Place, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawnIn(place, [process.execPath, resolve("cmd/main.ts"), "proxy", ...args], { env });
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let said = "";
  while (!said.endsWith("\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    said += decoder.decode(value, { stream: true });
  }
  return {
    said,
    /** Ends it, and says how it ended. */
    async end(signal: NodeJS.Signals = "SIGTERM") {
      child.kill(signal);
      const stderr = await child.stderr.text();
      await child.exited;
      return { exit: child.exitCode, stderr };
    },
  };
}

const proxiesAt = ({ http_port, socks_port }: Answer) => ({ httpPort: http_port, socksPort: socks_port });

test("prints where it listens, decides for both proxies, logs each request, and ends with 0", async () => {
  await using place = makePlace();
  await using origin = await startOrigin(echo);
  const allow = ["--allow-net", `localhost:${origin.port}`, "--allow-net", `127.0.0.1:${origin.port}`];
  const running = await startProxy(place, ["--json", ...allow, "--allow-net", `[::1]:${origin.port}`]);
  const answer = JSON.parse(running.said) as Answer;
  expect(answer.env["HTTPS_PROXY"]).toBe(`http://127.0.0.1:${answer.http_port}`);

  for (const way of [connectWay, socksWay]) {
    const good = await ask(way, proxiesAt(answer), origin.port, { host: "127.0.0.1" });
    expect(way.isYes(good.said)).toBe(true);
    good.socket.end("hello");
    expect((await readAll(good.socket)).toString()).toBe("hello");
    expect(way.isYes((await ask(way, proxiesAt(answer), 443, { host: "evil.test" })).said)).toBe(false);
  }

  const { exit, stderr } = await running.end();
  expect(exit).toBe(0);
  const refusal = "evil.test is not on the allowlist (--allow-net evil.test allows it)";
  expect(stderr.trimEnd().split("\n")).toEqual([
    `allowed http 127.0.0.1:${origin.port}`,
    `refused http evil.test:443: ${refusal}`,
    `allowed socks 127.0.0.1:${origin.port}`,
    `refused socks evil.test:443: ${refusal}`,
  ]);
});

test("prints lines for a shell", async () => {
  await using place = makePlace();
  const running = await startProxy(place, []);
  const shell = Bun.spawnSync(["sh", "-c", `${running.said}\nprintf %s "$HTTP_PROXY $JAVA_TOOL_OPTIONS"`], { env: {} });
  expect(shell.stdout.toString()).toMatch(/^http:\/\/127\.0\.0\.1:\d+ -Dhttp\.proxyHost=127\.0\.0\.1 /);
  expect(running.said.split("\n").every((line) => line === "" || /^export \w+='.*'$/.test(line))).toBe(true);
  await running.end();
});

describe.each<[NodeJS.Signals, number]>([
  ["SIGINT", 0],
  ["SIGTERM", 0],
  ["SIGHUP", 129],
])("%s", (signal, code) => {
  test(`ends it with ${code}, tunnels or not`, async () => {
    await using place = makePlace();
    await using origin = await startOrigin(echo);
    const running = await startProxy(place, ["--json", "--allow-net", `127.0.0.1:${origin.port}`]);
    const { socket } = await ask(connectWay, proxiesAt(JSON.parse(running.said)), origin.port, { host: "127.0.0.1" });
    expect((await running.end(signal)).exit).toBe(code);
    socket.destroy();
  });
});

test("goes through the user's own proxy, and a bad URL of that is an error at the start", async () => {
  await using place = makePlace();
  await using further = await startOrigin(
    (socket) => void socket.once("data", () => socket.end("HTTP/1.1 407 x\r\n\r\n")),
  );
  const env = { HTTPS_PROXY: `http://user:hunter2@127.0.0.1:${further.port}` };
  const running = await startProxy(place, ["--json", "--allow-net", "origin.test"], env);
  const answer = JSON.parse(running.said) as Answer;
  const { said } = await ask(connectWay, proxiesAt(answer), 443);
  expect(said.toString()).toContain(`127.0.0.1:${further.port}`);
  const { stderr } = await running.end();
  expect(stderr).toStartWith("failed http origin.test:443: the upstream proxy ");
  expect(stderr + running.said).not.toContain("hunter2");

  const bad = await startProxy(place, [], { HTTPS_PROXY: "ftp://user:hunter2@h:1" });
  expect(bad.said).toBe("");
  const ended = await bad.end();
  expect(ended.exit).toBe(2);
  expect(ended.stderr).toMatch(/HTTPS_PROXY/);
  expect(ended.stderr).not.toContain("hunter2");
});

test("a bad pattern and a place that is taken are errors at the start", async () => {
  await using place = makePlace();
  await using taken = await startOrigin(echo);
  const pattern = await (await startProxy(place, ["--allow-net", "*"])).end();
  expect(pattern.exit).toBe(2);
  const busy = await (await startProxy(place, ["--listen", `127.0.0.1:${taken.port}`])).end();
  expect(busy.exit).toBe(7);
  expect(busy.stderr).toContain(`127.0.0.1:${taken.port}`);
  const other = dialProxy(taken.port);
  other.destroy();
});

test("listens where it is told to", async () => {
  await using place = makePlace();
  const running = await startProxy(place, ["--json", "--listen", "[::1]:0", "--socks-listen", "0.0.0.0:0"]);
  const { env, http_port, socks_port } = JSON.parse(running.said) as Answer;
  expect(env["HTTP_PROXY"]).toBe(`http://[::1]:${http_port}`);
  expect(env["SOCKS_PROXY"]).toBe(`socks5h://127.0.0.1:${socks_port}`);
  await running.end();
});
