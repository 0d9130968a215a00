import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { embedSearch, searchWorker } from "../../../lib/tools/search/embed.ts";
import { ripgrepFile } from "../../../lib/tools/search/built.ts";
import { programInMemory, programOnDisk } from "../../../lib/tools/search/program.ts";
import { makePlace, type Place } from "../../support/place.ts";
import { policyOf } from "../../support/policy.ts";

const isLinux = process.platform === "linux";

/** Verbose expressions are ripgrep's alone: our own engine says that it does not take them. */
const onlyRipgrep = "(?x) n e e d l e";

/** Calls the three tools as a built binary has them. */
const entry = resolve("cmd/search-probe.ts");
const program = `
  import { globTool } from "../lib/tools/glob.ts";
  import { grepTool } from "../lib/tools/grep.ts";
  import { listTool } from "../lib/tools/list.ts";
  const context = { policy: JSON.parse(process.argv[2]), contextWindow: 128000, signal: new AbortController().signal };
  const results = [
    await listTool.run({}, context),
    await globTool.run({ pattern: "*.txt" }, context),
    await grepTool.run({ pattern: "ne+dle" }, context),
    await grepTool.run({ pattern: ${JSON.stringify(onlyRipgrep)} }, context),
  ];
  console.log(JSON.stringify(results.map(({ parts }) => parts[0].text)));`;

async function compile(place: Place, target?: string): Promise<string> {
  const outfile = join(place.home, "probe");
  await Bun.build({
    entrypoints: [entry, searchWorker],
    files: { [entry]: program },
    root: ".",
    plugins: [embedSearch(target)],
    minify: true,
    bytecode: true,
    format: "esm",
    splitting: true,
    compile: { outfile, autoloadBunfig: false, autoloadDotenv: false },
  });
  return outfile;
}

function runIn(place: Place, binary: string, env: Record<string, string> = {}): string[] {
  const child = Bun.spawnSync([binary, JSON.stringify(policyOf(place))], { cwd: "/", env: { ...place.env, ...env } });
  expect(child.stderr.toString()).toBe("");
  return JSON.parse(child.stdout.toString());
}

const searched = ["a.txt\nsub/\n  b.txt", "a.txt\nsub/b.txt", "a.txt\n1:a needle"];

test("a binary searches with the ripgrep in it, and leaves no copy of it behind", async () => {
  await using place = makePlace({ "a.txt": "a needle\n", "sub/b.txt": "" });
  const binary = await compile(place);
  expect(runIn(place, binary)).toEqual([...searched, "a.txt\n1:a needle"]);
  expect(readdirSync(place.env.TMPDIR ?? "")).toEqual([]);
  // Without FFI there is no file in memory to start it from.
  if (isLinux) expect(runIn(place, binary, { BUN_JSC_useJIT: "0" }).slice(0, 3)).toEqual(searched);
});

test("a binary for a platform without a ripgrep searches all the same", async () => {
  await using place = makePlace({ "a.txt": "a needle\n", "sub/b.txt": "" });
  const results = runIn(place, await compile(place, "unknown-cpu"));
  expect(results.slice(0, 3)).toEqual(searched);
  expect(results[3]).toContain("the flag x is not supported");
});

test.skipIf(!isLinux || ripgrepFile === undefined)("a program in memory can be started, and not be written", () => {
  const path = programInMemory(readFileSync(ripgrepFile ?? "")) ?? "";
  expect(Bun.spawnSync([path, "--version"], { env: {} }).stdout.toString()).toStartWith("ripgrep 15.");
  expect(() => writeFileSync(path, "x")).toThrow("EPERM");
});

test.skipIf(ripgrepFile === undefined)("a program on disk is there until it is disposed of", () => {
  const bytes = readFileSync(ripgrepFile ?? "");
  let path = "";
  {
    using program = programOnDisk(bytes);
    path = program.path;
    expect(Bun.spawnSync([path, "--version"], { env: {} }).stdout.toString()).toStartWith("ripgrep 15.");
  }
  expect(existsSync(path)).toBe(false);
});
