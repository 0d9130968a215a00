import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { manualPages } from "../../release/manual.ts";
import { sha256 } from "../../release/sha256.ts";
import { hostTarget } from "../../release/targets.ts";
import { type Checkout, makeCheckout } from "../support/checkout.ts";
import { makePlace, type Place } from "../support/place.ts";

const target = hostTarget();
const name = `koda-${version}-${target}`;
const out = "dist/release";

let checkout: Checkout;
/** The archive's directory, extracted. */
let extracted: string;

function release(from: Checkout) {
  const { exitCode, said } = from.run(process.execPath, "release/main.ts", "--target", `${target}`, "--format", "tar");
  return exitCode === 0 ? "" : said;
}

beforeAll(() => {
  checkout = makeCheckout();
  expect(release(checkout)).toBe("");
  checkout.run("tar", "-xf", `${out}/${name}.tar`, "-C", "dist");
  checkout.run("tar", "-xf", `${out}/koda-${version}-sourcemaps.tar`, "-C", "dist");
  extracted = join(checkout.path, "dist", name);
});
afterAll(() => checkout[Symbol.dispose]());

const read = (path: string) => readFileSync(join(checkout.path, out, path), "utf8");

describe("another checkout of the commit", () => {
  let other: Checkout;
  beforeAll(() => {
    other = makeCheckout("some/other/place");
  });
  afterAll(() => other[Symbol.dispose]());

  test("is not released while its work tree is not as it was committed", () => {
    writeFileSync(join(other.path, "LICENSE"), "Mine.\n");
    expect(release(other)).toContain("changes that are not committed; commit or stash them:\nM LICENSE");
    expect(existsSync(join(other.path, out))).toBe(false);
    other.run("git", "checkout", "--quiet", "LICENSE");
  });

  test("makes the same bytes", () => {
    expect(release(other)).toBe("");
    const files = readdirSync(join(checkout.path, out)).sort();
    expect(files).toEqual([
      "SHA256SUMS",
      "build.lock",
      "install.sh",
      `${name}.tar`,
      `koda-${version}-sourcemaps.tar`,
      `koda-${version}.cdx.json`,
    ]);
    const hashes = ({ path }: Checkout) => files.map((file) => hashOf(join(path, out, file)));
    expect(hashes(other)).toEqual(hashes(checkout));
  });
});

test("SHA256SUMS is what sha256sum checks", () => {
  const { exitCode, said } = checkout.run("sh", "-c", `cd ${out} && sha256sum --check --strict SHA256SUMS`);
  expect([exitCode, said.match(/: OK$/gm)?.length]).toEqual([0, 5]);
});

test("an archive has the binary and what belongs beside it, by paths below a prefix", () => {
  const { said } = checkout.run("tar", "--list", "--verbose", "--file", `${out}/${name}.tar`);
  const entries = said.split("\n").filter((line) => line.startsWith("-"));
  expect(entries.every((line) => line.includes(" root/root "))).toBe(true);
  const [pages, others] = [
    entries.filter((line) => line.includes("/share/man/")),
    entries.filter((line) => !line.includes("/share/man/")),
  ];
  expect(pages.map((line) => line.split(`${name}/`)[1])).toEqual(
    [...manualPages({ date: "2026-01-02", version }).keys()].map((path) => `share/${path}`).toSorted(),
  );
  expect(others.map((line) => [line.slice(0, 10), line.split(`${name}/`)[1]])).toEqual([
    ["-rwxr-xr-x", "bin/koda"],
    ["-rw-r--r--", "share/bash-completion/completions/koda"],
    ["-rw-r--r--", "share/doc/koda/LICENSE"],
    ["-rw-r--r--", "share/doc/koda/THIRD-PARTY-LICENSES"],
    ["-rw-r--r--", "share/fish/vendor_completions.d/koda.fish"],
    ["-rw-r--r--", "share/zsh/site-functions/_koda"],
  ]);
  expect(checkout.run(join(extracted, "bin/koda"), "--version").said).toBe(`koda ${version}\n`);
  const completions = readFileSync(join(extracted, "share/bash-completion/completions/koda"), "utf8");
  expect(checkout.run(join(extracted, "bin/koda"), "completions", "bash").said).toBe(completions);
});

test("build.lock has the commit, Bun and every hash", () => {
  const lock = JSON.parse(read("build.lock"));
  expect(lock.commit).toBe(checkout.run("git", "rev-parse", "HEAD").said.trim());
  expect(lock.bun).toEqual({ version: Bun.version, revision: Bun.revision });
  expect(lock.binaries[`${target}`].sha256).toBe(hashOf(join(extracted, "bin/koda")));
  for (const [file, hash] of Object.entries(lock.files)) expect(hashOf(join(checkout.path, out, file))).toBe(`${hash}`);
});

describe("what others wrote", () => {
  const names = () =>
    JSON.parse(read(`koda-${version}.cdx.json`)).components.map((each: { name: string }) => each.name);

  test("is named with its licence: packages, copies in packages, Bun, and ripgrep with its libraries", () => {
    const text = readFileSync(join(extracted, "share/doc/koda/THIRD-PARTY-LICENSES"), "utf8");
    expect(names()).toContain(`koda-${target}`);
    for (const part of ["zod", "entities", "scule", "@pydantic/genai-prices", "ripgrep", "pcre2"]) {
      expect(names()).toContain(part);
      expect(text).toMatch(new RegExp(`^${part} \\d[\\d.]* \\([^)]+\\)$`, "m"));
    }
    expect(text).toContain("GNU LIBRARY GENERAL PUBLIC LICENSE");
    expect(text).toContain("Copyright (c) 2015 Andrew Gallant");
  });

  test("is not what only builds or tests koda", () => {
    for (const part of ["openai", "fast-check", "ajv", "@types/bun"]) expect(names()).not.toContain(part);
  });

  test("is listed by purl and hash, and by no host", () => {
    const { components, dependencies } = JSON.parse(read(`koda-${version}.cdx.json`));
    const zod = components.find((each: { name: string }) => each.name === "zod");
    expect(zod.purl).toBe(`pkg:npm/zod@${zod.version}`);
    expect(zod.hashes[0].content).toMatch(/^[0-9a-f]{128}$/);
    const refs = new Set(components.map((each: { "bom-ref": string }) => each["bom-ref"]));
    const named = dependencies.flatMap((each: { dependsOn: string[] }) => each.dependsOn);
    expect(named.filter((ref: string) => !refs.has(ref))).toEqual([]);
    expect(read(`koda-${version}.cdx.json`) + read("build.lock")).not.toContain("://");
  });
});

test("the source maps name the lines of a trace that the binary has printed", async () => {
  await using place = makePlace({ "broken.ts": 'performance.now = () => { throw new Error("broken clock"); };' });
  const trace = traceOf(place);
  expect(trace).toContain("broken clock");
  expect(trace).not.toContain("host.ts");
  place.write("trace", trace);
  const maps = `dist/koda-${version}-sourcemaps/${target}`;
  const { said } = checkout.run(
    "sh",
    "-c",
    `"$0" release/trace.ts ${maps} < "$1"`,
    process.execPath,
    join(place.project, "trace"),
  );
  expect(said).toMatch(/ at new \w+ \(lib\/conversation\/host\.ts:\d+:\d+\)/);
  expect(said).toMatch(/ at async \w+ \(cmd\/main\.ts:\d+:\d+\)/);
});

/** Of a run in which a function of the platform fails. */
function traceOf({ project, env }: Place): string {
  const { stderr } = Bun.spawnSync([join(extracted, "bin/koda"), "exec", "-m", "demo", "hello"], {
    cwd: project,
    env: { ...env, BUN_OPTIONS: `--preload=${join(project, "broken.ts")}` },
    stdin: "ignore",
    stderr: "pipe",
  });
  return stderr.toString();
}

function hashOf(path: string): string {
  return sha256(readFileSync(path));
}
