import { describe, expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Socket } from "node:net";
import { proxyVariables } from "../../../lib/egress/env.ts";
import { host, openWorld, refusedHost, testWith, type World } from "../../support/clients.ts";
import { openProxies, startOrigin } from "../../support/egress.ts";
import { serveGit } from "../../support/git-server.ts";
import { binary } from "../../support/koda.ts";
import { makePlace, type Place } from "../../support/place.ts";

const settings = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.com",
};

async function git(world: World, cwd: string, ...args: string[]) {
  return await world.run(["git", ...args], { cwd, env: settings });
}

/** Servers for a repository `some.git` that has one commit with a large file. */
async function openRepository(base: Place): Promise<World> {
  const root = join(base.project, "served");
  mkdirSync(root);
  const world = await openWorld(serveGit(root));
  const [work, bare] = [join(base.project, "work"), join(root, "some.git")];
  const setup = [
    ["init", "-q", "-b", "main", work],
    ["-C", work, "add", "."],
    ["-C", work, "commit", "-qm", "one"],
    ["clone", "-q", "--bare", work, bare],
    ["-C", bare, "config", "http.receivepack", "true"],
  ];
  mkdirSync(work);
  writeFileSync(join(work, "large"), Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("hex"));
  for (const args of setup) {
    const { exit, stderr } = await git(world, base.project, ...args);
    expect(exit, stderr).toBe(0);
  }
  return world;
}

describe("git over HTTP", () => {
  const test = testWith("git");

  test("clones, pushes and fetches, plain and with TLS", async () => {
    await using base = makePlace();
    await using world = await openRepository(base);
    for (const [name, url] of Object.entries({ plain: world.http, secure: world.https })) {
      const clone = join(world.place.project, name);
      const cloned = await git(world, world.place.project, "clone", "-q", `${url}/some.git`, clone);
      expect(cloned.exit, cloned.stderr).toBe(0);
      // More than git sends in one piece: it then asks first whether it may, and sends in chunks.
      const bytes = Array.from({ length: 40 }, () => crypto.getRandomValues(new Uint8Array(65_536)));
      writeFileSync(join(clone, `new-${name}`), Buffer.concat(bytes));
      await git(world, clone, "add", ".");
      await git(world, clone, "commit", "-qm", name);
      const pushed = await git(world, clone, "push", "-q", "origin", "main");
      expect(pushed.exit, pushed.stderr).toBe(0);
    }
    const plain = join(world.place.project, "plain");
    expect((await git(world, plain, "fetch", "-q")).exit).toBe(0);
    expect((await git(world, plain, "log", "--format=%s", "origin/main")).stdout).toBe("secure\nplain\none\n");
    const asked = new Set(world.opened.requests.map(({ host, verdict }) => `${host} ${verdict}`));
    expect([...asked]).toEqual([`${host} allowed`]);
  });

  test("is told 403 where it is refused", async () => {
    await using base = makePlace();
    await using world = await openRepository(base);
    for (const url of [world.refusedHttp, world.refusedHttps]) {
      const { exit, stderr } = await git(world, world.place.project, "clone", `${url}/some.git`, "never");
      expect(exit).toBe(128);
      expect(stderr).toContain("403");
    }
    expect(world.opened.requests.map(({ verdict }) => verdict)).toEqual(["refused", "refused"]);
  });
});

/** Says what a server of SSH says first, and keeps what it hears. */
function greeter(heard: string[]) {
  return (socket: Socket) => {
    socket.write("SSH-2.0-test_server\r\n");
    socket.once("data", (chunk: Buffer) => {
      heard.push(chunk.toString("latin1").split("\r\n")[0] ?? "");
      socket.end();
    });
  };
}

describe("git over SSH", () => {
  const test = testWith("ssh", "-V");

  test("goes through koda's own tunnel to the SOCKS proxy", async () => {
    await using base = makePlace();
    const heard: string[] = [];
    await using server = await startOrigin(greeter(heard));
    await using opened = await openProxies([server.port], { allow: [`${host}:${server.port}`] });
    const at = (port: number) => ({ host: "127.0.0.1", port });
    const { httpPort, socksPort } = opened.proxies;
    const variables = proxyVariables({ http: at(httpPort), socks: at(socksPort), executable: binary });
    const clone = async (name: string) => {
      const argv = ["git", "clone", `ssh://git@${name}:${server.port}/some.git`, "never"];
      const env = { ...base.env, ...settings, ...variables };
      const child = Bun.spawn(argv, { cwd: base.project, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
      return { stderr: await child.stderr.text(), exit: await child.exited };
    };

    expect((await clone(host)).exit).toBe(128);
    expect(heard).toEqual([expect.stringMatching(/^SSH-2\.0-/)]);

    const refused = await clone(refusedHost);
    expect(refused.exit).toBe(128);
    expect(refused.stderr).toContain(`egress: ${refusedHost}:${server.port} refused: the rules do not allow it`);
    expect(heard).toHaveLength(1);
    expect(opened.requests).toMatchObject([
      { via: "socks", host, port: server.port, verdict: "allowed" },
      { via: "socks", host: refusedHost, verdict: "refused" },
    ]);
  });
});
