import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { embedSearch } from "../../../lib/tools/search/embed.ts";
import { programWithout } from "../../support/denied.ts";
import { makePlace, type Place } from "../../support/place.ts";
import { policyOf } from "../../support/policy.ts";

/** Calls the tool as a built binary has it. */
const entry = resolve("cmd/search-probe.ts");
const program = `
  import { unconfined } from "../lib/sandbox/backend.ts";
  import { Shell } from "../lib/shell/shell.ts";
  import { grepTool } from "../lib/tools/grep.ts";
  const policy = JSON.parse(process.argv[2]);
  const shell = new Shell({ backend: unconfined, policy, env: process.env });
  const context = { policy, shell, contextWindow: 128000, signal: new AbortController().signal };
  const { parts } = await grepTool.run({ pattern: "ne+dle" }, context);
  console.log(parts[0].text);`;

const ripgrep = Bun.resolveSync(`@vscode/ripgrep-linux-${process.arch}/bin/rg`, import.meta.dir);

async function compile(place: Place): Promise<string> {
  const outfile = join(place.home, "probe");
  await Bun.build({
    entrypoints: [entry],
    files: { [entry]: program },
    root: ".",
    plugins: [embedSearch(ripgrep)],
    minify: true,
    bytecode: true,
    format: "esm",
    splitting: true,
    compile: { outfile, autoloadBunfig: false, autoloadDotenv: false },
  });
  return outfile;
}

function runIn(place: Place, argv: readonly string[], env: Record<string, string> = {}): string {
  const child = Bun.spawnSync([...argv, JSON.stringify(policyOf(place))], {
    cwd: "/",
    env: { ...place.env, ...env },
  });
  expect(child.stderr.toString()).toBe("");
  return child.stdout.toString();
}

const found = "a.txt\n1:a needle\n";

test("a binary searches with the ripgrep in it, and leaves no copy of it behind", async () => {
  await using place = makePlace({ "a.txt": "a needle\n", "sub/b.txt": "" });
  const binary = await compile(place);
  expect(runIn(place, [binary])).toBe(found);
  expect(runIn(place, [programWithout({ memfd_create: 1 }, place.home), binary])).toBe(found);
  // Without FFI there is no file in memory either.
  expect(runIn(place, [binary], { BUN_JSC_useJIT: "0" })).toBe(found);
  expect(readdirSync(place.env.TMPDIR ?? "")).toEqual([]);
});

test("where the program can be kept nowhere Grep says why", async () => {
  await using place = makePlace({ "a.txt": "a needle\n" });
  const { tmp } = policyOf(place);
  const binary = await compile(place);
  Bun.spawnSync(["rmdir", tmp]);
  const said = runIn(place, [programWithout({ memfd_create: 1 }, place.home), binary]);
  expect(said).toBe(`Cannot search: no program can be kept in memory, nor without a name in "${tmp}"\n`);
});
