import { describe, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { host, openWorld, refusedHost, testWith, type World } from "../../support/clients.ts";
import { recentNode } from "../../support/recentnode.ts";

/** Gives back what it was sent, and says who asked for what. */
async function mirror(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/moved") return Response.redirect("/here", 302);
  if (pathname === "/away") return Response.redirect(`http://${refusedHost}:${new URL(request.url).port}/`, 302);
  if (request.method === "GET") return new Response(`${request.method} ${pathname}`);
  return new Response(request.body);
}

const verdicts = ({ opened }: World) => opened.requests.map(({ host, verdict }) => `${host} ${verdict}`);

describe("curl", () => {
  const test = testWith("curl");

  test("reaches what is allowed, plain and with TLS", async () => {
    await using world = await openWorld(mirror);
    for (const base of [world.http, world.https]) {
      expect(await world.run(["curl", "-sS", `${base}/here`])).toEqual({ exit: 0, stdout: "GET /here", stderr: "" });
    }
    expect(verdicts(world)).toEqual([`${host} allowed`, `${host} allowed`]);
  });

  test("follows a redirection as far as the rules do", async () => {
    await using world = await openWorld(mirror);
    expect((await world.run(["curl", "-sSL", `${world.http}/moved`])).stdout).toBe("GET /here");
    expect((await world.run(["curl", "-sSL", `${world.http}/away`])).stdout).toContain("--allow-net refused.test:");
  });

  test("sends a large body and gets it back", async () => {
    await using world = await openWorld(mirror);
    const body = crypto.getRandomValues(new Uint8Array(65_536));
    const large = Buffer.concat(Array.from({ length: 80 }, () => body));
    writeFileSync(join(world.place.project, "large"), large);
    for (const base of [world.http, world.https]) {
      const args = ["-sS", "--data-binary", "@large", "-o", "back", `${base}/`];
      expect(await world.run(["curl", ...args])).toMatchObject({ exit: 0, stderr: "" });
      expect(large.equals(await Bun.file(join(world.place.project, "back")).bytes())).toBe(true);
    }
  });

  test("goes through the SOCKS proxy as well, names and all", async () => {
    await using world = await openWorld(mirror);
    const line = (url: string) => ["sh", "-c", `curl -sS --proxy "$SOCKS_PROXY" ${url}`];
    expect((await world.run(line(`${world.https}/here`))).stdout).toBe("GET /here");
    const refused = await world.run(line(world.refusedHttps));
    expect(refused.exit).toBe(97);
    expect(refused.stderr).toContain("(97)");
    expect(world.opened.requests).toMatchObject([
      { via: "socks", verdict: "allowed" },
      { via: "socks", verdict: "refused" },
    ]);
  });

  test("says why it was refused: in the body of plain HTTP, in a header before TLS", async () => {
    await using world = await openWorld(mirror);
    const plain = await world.run(["curl", "-sS", "-i", world.refusedHttp]);
    expect(plain.stdout).toMatch(/^HTTP\/1\.1 403 /);
    expect(plain.stdout).toMatch(/^X-Koda-Egress: refused\.test:\d+ is not on the allowlist \(--allow-net .*\)/im);
    expect(plain.stdout).toMatch(/\r\n\r\nrefused\.test:\d+ is not on the allowlist \(--allow-net .*\)\n$/);

    const secure = await world.run(["curl", "-sS", "-v", world.refusedHttps]);
    expect(secure.exit).toBe(56);
    expect(secure.stderr).toContain("403");
    expect(secure.stderr).toMatch(/< X-Koda-Egress: refused\.test:\d+ is not on the allowlist/i);
    expect(verdicts(world)).toEqual([`${refusedHost} refused`, `${refusedHost} refused`]);
  });
});

describe("wget", () => {
  const test = testWith("wget");

  test("reaches what is allowed, plain and with TLS", async () => {
    await using world = await openWorld(mirror);
    for (const base of [world.http, world.https]) {
      const ran = await world.run(["wget", "-nv", "-O", "-", "--ca-certificate", world.caFile, `${base}/here`]);
      expect(ran.stdout, ran.stderr).toBe("GET /here");
    }
    expect(verdicts(world)).toEqual([`${host} allowed`, `${host} allowed`]);
  });

  test("fails with 403 where it is refused", async () => {
    await using world = await openWorld(mirror);
    for (const base of [world.refusedHttp, world.refusedHttps]) {
      const ran = await world.run(["wget", "-O", "-", "--tries=1", "--ca-certificate", world.caFile, base]);
      expect(ran).toMatchObject({ stdout: "" });
      expect(ran.exit).not.toBe(0);
      expect(ran.stderr).toMatch(/403|Forbidden/);
    }
    expect(verdicts(world)).toEqual([`${refusedHost} refused`, `${refusedHost} refused`]);
  });
});

describe("fetch of node", () => {
  const node = recentNode();
  const test = testWith(node, "--use-env-proxy", "--version");
  // Even plain HTTP goes through a tunnel; what the proxy said is the cause of the cause.
  const program = `
    const causes = (error) => (error === undefined ? [] : [error.message, ...causes(error.cause)]);
    const answer = await fetch(process.argv[1]).catch((error) => error);
    console.log(answer instanceof Error ? causes(answer).join(": ") : await answer.text());
  `;
  const ask = (url: string) => [node, "--input-type=module", "-e", program, url];

  test("reaches what is allowed, plain and with TLS", async () => {
    await using world = await openWorld(mirror);
    for (const base of [world.http, world.https]) {
      const ran = await world.run(ask(`${base}/here`));
      expect(ran.stdout, ran.stderr).toBe("GET /here\n");
    }
    expect(verdicts(world)).toEqual([`${host} allowed`, `${host} allowed`]);
  });

  test("is told 403 where it is refused", async () => {
    await using world = await openWorld(mirror);
    for (const base of [world.refusedHttp, world.refusedHttps])
      expect((await world.run(ask(base))).stdout).toContain("403");
    expect(verdicts(world)).toEqual([`${refusedHost} refused`, `${refusedHost} refused`]);
  });
});

describe("python's own clients", () => {
  const test = testWith("python3");

  test("reach what is allowed, plain and with TLS", async () => {
    await using world = await openWorld(mirror);
    const program = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())";
    for (const base of [world.http, world.https]) {
      const ran = await world.run(["python3", "-c", program, `${base}/here`]);
      expect(ran.stdout, ran.stderr).toBe("GET /here\n");
    }
    expect(verdicts(world)).toEqual([`${host} allowed`, `${host} allowed`]);
  });

  test("reach it by http.client, which is told of the proxy", async () => {
    await using world = await openWorld(mirror);
    const program = `
import http.client, os, sys, urllib.parse
proxy, target = (urllib.parse.urlsplit(url) for url in (os.environ["HTTPS_PROXY"], sys.argv[1]))
connection = http.client.HTTPSConnection(proxy.hostname, proxy.port)
connection.set_tunnel(target.hostname, target.port)
connection.request("POST", "/", body=b"x" * 3000000)
print(len(connection.getresponse().read()))
`;
    const ran = await world.run(["python3", "-c", program, world.https]);
    expect(ran.stdout, ran.stderr).toBe("3000000\n");
  });

  test("are refused, and can read why of plain HTTP", async () => {
    await using world = await openWorld(mirror);
    const program = `
import sys, urllib.request, urllib.error
try: urllib.request.urlopen(sys.argv[1])
except urllib.error.HTTPError as error: print(error.code, error.headers["x-koda-egress"], error.read().decode())
`;
    const plain = await world.run(["python3", "-c", program, world.refusedHttp]);
    expect(plain.stdout).toMatch(/^403 (refused\.test:\d+ is not on the allowlist .*) \1\n/);
    const secure = await world.run(["python3", "-c", program, world.refusedHttps]);
    expect(secure.stderr).toContain("Tunnel connection failed: 403");
    expect(verdicts(world)).toEqual([`${refusedHost} refused`, `${refusedHost} refused`]);
  });
});
