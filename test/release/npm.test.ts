import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type NpmPackage, npmPackages } from "../../release/npmpackages.ts";
import type { ArchiveFile } from "../../release/tar.ts";
import { type Target, targets } from "../../release/targets.ts";
import { startRegistry, writePackage } from "../support/npmregistry.ts";
import { hasManager, installing, type ManagerName, managers } from "../support/packagemanagers.ts";
import { makePlace, type Place } from "../support/place.ts";
import { recentNode } from "../support/recentnode.ts";
import { finished, runIn, spawnIn } from "../support/run.ts";

const here = `linux-${process.arch}`;

/** A program that says what it is. */
const program = (target: Target, script: string): ArchiveFile[] => [
  { path: "bin/koda", content: Buffer.from(`#!/bin/sh\n${script.replace("TARGET", target)}\n`), isProgram: true },
];
const packagesWith = (script: string) =>
  npmPackages(new Map(targets.map((target) => [target, program(target, script)])));

const path = { PATH: `${dirname(recentNode())}:${process.env.PATH}` };

for (const name of Object.keys(managers) as ManagerName[])
  test.skipIf(!hasManager(name))(`${name} installs koda for this platform, and runs no script`, async () => {
    await using place = makePlace({ "package.json": '{ "name": "p", "private": true }' });
    const packages = packagesWith('echo TARGET "$@"');
    expect(packages.filter(({ manifest }) => "scripts" in manifest)).toEqual([]);
    await using registry = await startRegistry(packages);
    const ran = await runIn(place, installing(name, "koda-cli"), { env: registryVariables(registry.url, place) });
    expect(ran.exit, ran.stdout + ran.stderr).toBe(0);
    const started = await runIn(place, [join(place.project, "node_modules/.bin/koda"), "a b"], { env: path });
    expect(started).toMatchObject({ exit: 0, stdout: `${here} a b\n`, stderr: "" });
  });

function registryVariables(url: string, place: Place): Record<string, string> {
  return {
    npm_config_registry: url,
    npm_config_cache: join(place.home, "cache"),
    YARN_REGISTRY: url,
    YARN_NPM_REGISTRY_SERVER: url,
    YARN_UNSAFE_HTTP_WHITELIST: "127.0.0.1",
    YARN_NODE_LINKER: "node-modules",
    YARN_ENABLE_TELEMETRY: "0",
    YARN_ENABLE_IMMUTABLE_INSTALLS: "0",
  };
}

const nodes = [
  ["a Node that it replaces", recentNode()],
  ["a Node that stays beside it", Bun.which("node") ?? recentNode()],
] as const;

describe.skipIf(Bun.which("node") === null).each(nodes)("koda, started by %s,", (_, node) => {
  test("has its arguments, its input and its exit code", async () => {
    await using place = placeWith(installedWith('read -r line; echo "$1 $line"; exit 42'));
    expect(await finished(spawnIn(place, [node, shim, "a b"], { stdin: "c\n" }))).toMatchObject({
      exit: 42,
      stdout: "a b c\n",
      stderr: "",
    });
  });

  test("gets signals, and ends as the program does", async () => {
    await using place = placeWith(installedWith("trap 'kill $!; exit 7' TERM; sleep 1000 & echo ready; wait"));
    const child = spawnIn(place, [node, shim]);
    await child.stdout.getReader().read();
    child.kill("SIGTERM");
    expect(await child.exited).toBe(7);
    await using killed = placeWith(installedWith("kill -KILL $$"));
    expect(await runIn(killed, [node, shim])).toMatchObject({ signal: "SIGKILL" });
  });

  test("says how to get what is missing", async () => {
    await using place = placeWith(installedWith("exit 0").slice(-1));
    const { exit, stderr } = await runIn(place, [node, shim]);
    expect(exit).toBe(127);
    expect(stderr).toContain(`The package koda-cli-${here} is missing`);
    expect(stderr).toMatch(/npm install --global --include=optional koda-cli@\d/);
  });

  test.each([
    ["#!/nowhere/loader\n", "it needs /nowhere/loader, which this system lacks"],
    ["\u007fELF\u0002\0\0/nowhere/ld-linux.so\0/etc\0", "it needs /nowhere/ld-linux.so, which this system lacks"],
    ["", "is no program: the package is damaged"],
  ])("says why %j cannot be started", async (content, words) => {
    await using place = placeWith(installedWith("exit 0"));
    for (const name of [`koda-cli-${here}`, `koda-cli-${here}-musl`])
      writeFileSync(join(place.project, "node_modules", name, "bin/koda"), content);
    const { exit, stderr } = await runIn(place, [node, shim]);
    expect([exit, stderr.split("\n").length]).toEqual([127, 2]);
    expect(stderr).toContain(words);
  });
});

const shim = "node_modules/koda-cli/koda.cjs";
const installedWith = (script: string) =>
  packagesWith(script).filter(({ name }) => ["koda-cli", `koda-cli-${here}`, `koda-cli-${here}-musl`].includes(name));

/** Packages as a manager leaves them; some install both C libraries' programs. */
function placeWith(packages: readonly NpmPackage[]): Place {
  const place = makePlace();
  for (const each of packages) writePackage(each, join(place.project, "node_modules", each.name));
  return place;
}
