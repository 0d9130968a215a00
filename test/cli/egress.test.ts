import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { EgressRefusal } from "../../lib/egress/refusals/log.ts";
import { startOrigin } from "../support/egress.ts";
import { serveGit } from "../support/git-server.ts";
import { exec, koda, type Line, type RanExec } from "../support/koda.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { npmRegistry, packageName } from "../support/package-servers.ts";
import { makePlace, type Place } from "../support/place.ts";

/**
 * The whole way: a command in the sandbox, the variables that it finds, koda's proxies, a server of the test's own.
 * The server is on loopback, which NO_PROXY excludes, so the commands ask for the proxy explicitly.
 */
const proxied = "export no_proxy= NO_PROXY= npm_config_noproxy=;";

type Origin = Disposable & { port: number; url: string };

function startWeb(serve: (request: Request) => Response | Promise<Response> = () => new Response("hello\n")): Origin {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: serve });
  const port = server.port ?? 0;
  return { port, url: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => void server.stop(true) };
}

type Told = RanExec & { told: string };

/** Lets the model run one command; `told` is what it is told of it. */
async function command(place: Place, line: string, ...flags: string[]): Promise<Told> {
  await using server = await startModelServer([call("Bash", { command: line }), say("Done.")]);
  const ran = await exec(place, server, [...flags, "go"]);
  expect(ran.exit, ran.stderr).toBe(0);
  return { ...ran, told: server.requests[1]?.lines.at(-1)?.text ?? "" };
}

const wishes = ({ events }: RanExec) =>
  events.filter((line): line is Line & { type: "egress" } => line.type === "egress");

describe("a command in the sandbox", () => {
  test("reaches a host that --allow-net names, by either proxy", async () => {
    await using place = makePlace();
    using web = startWeb();
    const both = `${proxied} curl -sS ${web.url}; curl -sS -x "$SOCKS_PROXY" ${web.url}`;
    const ran = await command(place, both, "--allow-net", `127.0.0.1:${web.port}`);
    expect(ran.told).toContain("hello\nhello");
    expect(wishes(ran)).toMatchObject([
      { via: "http", host: "127.0.0.1", port: web.port, verdict: "allowed" },
      { via: "socks", host: "127.0.0.1", port: web.port, verdict: "allowed" },
    ]);
    const [start] = ran.events;
    expect(start).toMatchObject({ egress: { allow: expect.arrayContaining([`127.0.0.1:${web.port}`]) } });
  });

  test("is refused any other, and everyone is told why", async () => {
    await using place = makePlace();
    using web = startWeb();
    // The refusal is told when it happens, and the call is not over then.
    const ran = await command(place, `${proxied} curl -sS --fail ${web.url}; code=$?; echo later; exit $code`);
    const order = ran.events.map((line) => (line.type === "tool.output" ? line.text : line.type));
    expect(order.indexOf("egress")).toBeLessThan(order.indexOf("later\n"));
    const reason = expect.stringMatching(
      /^127\.0\.0\.1:\d+ is not on the allowlist \(--allow-net 127\.0\.0\.1:\d+ allows it\)$/,
    );
    const id = ran.events.find((line) => line.type === "tool.start")?.id;
    expect(wishes(ran)).toMatchObject([{ via: "http", port: web.port, verdict: "refused", reason, tool: id }]);
    expect(ran.told).toContain(`--allow-net 127.0.0.1:${web.port}`);

    const { stdout } = await koda(place, ["doctor", "--json"]);
    const { refusals } = JSON.parse(stdout) as { refusals: EgressRefusal[] };
    expect(refusals).toMatchObject([{ host: "127.0.0.1", port: web.port, reason, tool: id }]);
  });

  test("is refused what --deny-net names, whatever allows it", async () => {
    await using place = makePlace();
    using web = startWeb();
    const name = `127.0.0.1:${web.port}`;
    const ran = await command(place, `${proxied} curl -sS ${web.url}`, "--allow-net", name, "--deny-net", name);
    expect(ran.told).not.toContain("hello");
    expect(wishes(ran)).toMatchObject([{ verdict: "refused", reason: expect.stringContaining("--deny-net") }]);
  });

  test("finds no way round the proxies", async () => {
    await using place = makePlace();
    using web = startWeb();
    const ran = await command(place, `curl -sS --noproxy '*' ${web.url}; true`, "--allow-net", `127.0.0.1:${web.port}`);
    expect(ran.told).not.toContain("hello");
    expect(wishes(ran)).toEqual([]);
  });

  test("reaches nothing with --net none", async () => {
    await using place = makePlace();
    using web = startWeb();
    const line = `echo "[$HTTP_PROXY$https_proxy]"; curl -sS --max-time 5 -x http://127.0.0.1:3128 ${web.url}; true`;
    const ran = await command(place, line, "--net", "none", "--allow-net", `127.0.0.1:${web.port}`);
    expect(ran.told).toContain("[]");
    expect(ran.told).not.toContain("hello");
  });

  test("reaches its own servers directly", async () => {
    await using place = makePlace({ "index.html": "its own\n" });
    const serve = "python3 -m http.server --bind 127.0.0.1 8765 >/dev/null 2>&1 & server=$!";
    const line = `${serve}; for i in $(seq 200); do curl -sf http://127.0.0.1:8765/ && break; sleep 0.1; done; kill $server`;
    const ran = await command(place, line);
    expect(ran.told).toContain("its own");
    expect(wishes(ran)).toEqual([]);
  });
});

test("with eight commands at once each request belongs to its call", async () => {
  await using place = makePlace();
  const ids = Array.from({ length: 8 }, (_, index) => `call_${index}`);
  const background = ids.map((id) => {
    const command = `until test -e go; do sleep 0.02; done; curl -sS http://${id.replace("_", "-")}.test/; touch done-${id}`;
    return call("Bash", { command, background: true }, { id });
  });
  const all = 'touch go; until [ "$(ls done-* | wc -l)" = 8 ]; do sleep 0.02; done; curl -sS http://last.test/ --fail';
  await using server = await startModelServer([reply(...background), call("Bash", { command: all }), say("Done.")]);
  const ran = await exec(place, server, ["go"]);
  const last = ran.events.findLast((line) => line.type === "tool.start")?.id;
  const expected = [...ids.map((id) => `${id} ${id.replace("_", "-")}.test`), `${last} last.test`];
  expect(
    wishes(ran)
      .map(({ tool, host }) => `${tool} ${host}`)
      .toSorted(),
  ).toEqual(expected.toSorted());
  expect(server.requests[2]?.lines.at(-1)?.text).toContain("egress: last.test:80 was refused");
});

describe("in the sandbox works", () => {
  test("git over HTTP", async () => {
    await using place = makePlace();
    const root = join(place.home, "served");
    mkdirSync(root);
    const made = Bun.spawnSync(["git", "init", "-q", "--bare", "-b", "main", "some.git"], {
      cwd: root,
      env: place.env,
    });
    expect(made.exitCode).toBe(0);
    using web = startWeb(serveGit(root));
    const line = `${proxied} git ls-remote ${web.url}/some.git && echo reached`;
    expect((await command(place, line, "--allow-net", `127.0.0.1:${web.port}`)).told).toContain("reached");
    expect((await command(place, line)).told).toContain("403");
  });

  test("git over SSH, through koda itself", async () => {
    await using place = makePlace();
    const heard: string[] = [];
    await using server = await startOrigin((socket) => {
      socket.write("SSH-2.0-test_server\r\n");
      socket.once("data", (chunk: Buffer) => {
        heard.push(chunk.toString("latin1").split("\r\n")[0] ?? "");
        socket.end();
      });
    });
    const line = `git ls-remote ssh://git@127.0.0.1:${server.port}/some.git`;
    const allowed = await command(place, line, "--allow-net", `127.0.0.1:${server.port}`);
    expect(heard, allowed.told).toEqual([expect.stringMatching(/^SSH-2\.0-/)]);
    expect(wishes(allowed)).toMatchObject([{ via: "socks", port: server.port, verdict: "allowed" }]);

    const refused = await command(place, line);
    expect(refused.told).toContain(`egress: 127.0.0.1:${server.port} refused`);
    expect(heard).toHaveLength(1);
  });

  test("npm install", async () => {
    await using scratch = makePlace();
    await using place = makePlace({ "package.json": "{}" });
    using web = startWeb(npmRegistry(scratch.project));
    const flags = "--no-audit --no-fund --fetch-retries 0 --no-update-notifier --cache ./cache";
    const install = `${proxied} npm install ${flags} --registry ${web.url}/ ${packageName}`;
    const line = `${install} && node -p 'require("${packageName}")'`;
    const ran = await command(place, line, "--allow-net", `127.0.0.1:${web.port}`);
    expect(ran.told).toContain("from npm");
    expect((await command(place, line)).told).toContain("403");
  });
});

test("without a network a command learns nothing of the user's own proxy", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "env | grep -i _proxy; true" }), say("Done.")]);
  const own = {
    HTTPS_PROXY: "http://me:secret@127.0.0.1:9",
    ftp_proxy: "http://me:secret@127.0.0.1:9",
    NO_PROXY: "127.0.0.1",
  };
  const { stdout, stderr } = await exec(place, server, ["--net", "none", "go"], { env: own });
  expect(`${stdout}${stderr}`).not.toContain("secret");
});
