import { describe, expect } from "bun:test";
import { join } from "node:path";
import { host, openWorld, refusedHost, testWith, type Serve, type World } from "../../support/clients.ts";
import {
  cargoRegistry,
  goModule,
  goProxy,
  npmRegistry,
  packageName,
  pythonIndex,
} from "../../support/package-servers.ts";
import { makePlace } from "../../support/place.ts";

async function withRegistry(registry: (scratch: string) => Serve, use: (world: World) => Promise<void>): Promise<void> {
  await using scratch = makePlace();
  await using world = await openWorld(registry(scratch.project));
  await use(world);
}

const hostsAndVerdicts = ({ opened }: World) => [
  ...new Set(opened.requests.map(({ host, verdict }) => `${host} ${verdict}`)),
];

describe("npm", () => {
  const test = testWith("npm");
  const flags = ["--no-audit", "--no-fund", "--fetch-retries", "0", "--no-update-notifier"];
  const install = (registry: string) => ["npm", "install", ...flags, "--registry", registry, packageName];

  test("installs what is allowed, plain and with TLS", async () => {
    await withRegistry(npmRegistry, async (world) => {
      world.place.write("package.json", "{}");
      for (const base of [world.http, world.https]) {
        const { exit, stderr } = await world.run(install(`${base}/`));
        expect(exit, stderr).toBe(0);
        const said = await world.run(["node", "-p", `require("${packageName}")`]);
        expect(said.stdout).toBe("from npm\n");
        await world.run(["rm", "-r", "node_modules", "package-lock.json"]);
      }
      expect(hostsAndVerdicts(world)).toEqual([`${host} allowed`]);
    });
  });

  test("is told 403 where it is refused", async () => {
    await withRegistry(npmRegistry, async (world) => {
      world.place.write("package.json", "{}");
      for (const base of [world.refusedHttp, world.refusedHttps]) {
        const { exit, stderr } = await world.run(install(`${base}/`));
        expect(exit).not.toBe(0);
        expect(stderr).toContain("403");
      }
      expect(hostsAndVerdicts(world)).toEqual([`${refusedHost} refused`]);
    });
  });
});

describe("pip", () => {
  const test = testWith("python3", "-m", "pip", "--version");
  const pip = ["python3", "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--retries", "1"];
  const install = (base: string) => {
    const index = ["--index-url", `${base}/simple/`, "--trusted-host", new URL(base).host];
    return [...pip, "install", "--no-deps", "--target", "out", ...index, packageName];
  };

  test("installs what is allowed, plain and with TLS", async () => {
    await withRegistry(pythonIndex, async (world) => {
      for (const base of [world.http, world.https]) {
        const { exit, stderr } = await world.run(install(base));
        expect(exit, stderr).toBe(0);
        const said = await world.run(["python3", "-c", "import koda_probe; print(koda_probe.said)"], {
          env: { PYTHONPATH: join(world.place.project, "out") },
        });
        expect(said.stdout).toBe("from pip\n");
        await world.run(["rm", "-r", "out"]);
      }
      expect(hostsAndVerdicts(world)).toEqual([`${host} allowed`]);
    });
  });

  test("is told 403 where it is refused", async () => {
    await withRegistry(pythonIndex, async (world) => {
      const plain = await world.run(install(world.refusedHttp));
      const secure = await world.run(install(world.refusedHttps));
      for (const { exit, stderr } of [plain, secure]) {
        expect(exit).not.toBe(0);
        expect(stderr).toContain("No matching distribution found");
      }
      expect(secure.stderr).toContain("Tunnel connection failed: 403");
      expect(hostsAndVerdicts(world)).toEqual([`${refusedHost} refused`]);
    });
  });
});

describe("cargo", () => {
  const test = testWith("cargo");

  function project(world: World, base: string): void {
    world.place.write(".cargo/config.toml", `[registries.probe]\nindex = "sparse+${base}/"\n[net]\nretry = 0\n`);
    world.place.write("src/lib.rs", "");
    world.place.write(
      "Cargo.toml",
      `[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n` +
        `[dependencies]\n${packageName} = { version = "1", registry = "probe" }\n`,
    );
  }

  test("fetches what is allowed, plain and with TLS", async () => {
    await withRegistry(cargoRegistry, async (world) => {
      for (const base of [world.http, world.https]) {
        project(world, base);
        const { exit, stderr } = await world.run(["cargo", "fetch"], {
          env: { CARGO_HOME: join(world.place.home, new URL(base).protocol) },
        });
        expect(exit, stderr).toBe(0);
        expect(stderr).toContain(`Downloaded ${packageName} v1.0.0`);
        await world.run(["rm", "Cargo.lock"]);
      }
      expect(hostsAndVerdicts(world)).toEqual([`${host} allowed`]);
    });
  });

  test("is told 403 where it is refused", async () => {
    await withRegistry(cargoRegistry, async (world) => {
      for (const base of [world.refusedHttp, world.refusedHttps]) {
        project(world, base);
        const { exit, stderr } = await world.run(["cargo", "fetch"], { env: { CARGO_HOME: world.place.home } });
        expect(exit).not.toBe(0);
        expect(stderr).toContain("403");
      }
      expect(hostsAndVerdicts(world)).toEqual([`${refusedHost} refused`]);
    });
  });
});

describe("go", () => {
  const test = testWith("go", "version");
  const download = ["go", "get", `${goModule}@latest`];
  const settings = (base: string, world: World) => ({
    GOPROXY: base,
    GONOSUMDB: "*",
    GOFLAGS: "-modcacherw",
    GOPATH: join(world.place.home, "go"),
    GOTOOLCHAIN: "local",
  });

  test("gets what is allowed, plain and with TLS", async () => {
    await withRegistry(goProxy, async (world) => {
      for (const base of [world.http, world.https]) {
        world.place.write("go.mod", "module user\n");
        const { exit, stderr } = await world.run(download, { env: settings(base, world) });
        expect(exit, stderr).toBe(0);
        expect(stderr).toContain(`${goModule} v1.0.0`);
        await world.run(["rm", "-r", join(world.place.home, "go")]);
      }
      expect(hostsAndVerdicts(world)).toEqual([`${host} allowed`]);
    });
  });

  test("is told that it is forbidden where it is refused", async () => {
    await withRegistry(goProxy, async (world) => {
      for (const base of [world.refusedHttp, world.refusedHttps]) {
        world.place.write("go.mod", "module user\n");
        const { exit, stderr } = await world.run(download, { env: settings(base, world) });
        expect(exit).not.toBe(0);
        expect(stderr).toMatch(/403|Forbidden/);
      }
      expect(hostsAndVerdicts(world)).toEqual([`${refusedHost} refused`]);
    });
  });
});
