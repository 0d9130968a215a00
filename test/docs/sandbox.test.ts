import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asInDocker, programWithout } from "../support/denied.ts";
import { binary } from "../support/koda.ts";

/** A line of the table in docs/sandbox.md by which readers see for themselves what holds. */
type Row = { claim: string; command: string; byTier: { mounts: Expected; landlock: Expected } };
/** One of these is said; or nothing is; or the tier does not hold it. */
type Expected = { said: readonly string[]; nothing: boolean; gap: boolean };

const rows = tableBelow("## See for yourself");

function tableBelow(heading: string): readonly Row[] {
  const [, text = ""] = readFileSync("docs/sandbox.md", "utf8").split(`\n${heading}\n`);
  const [section = ""] = text.split("\n## ");
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => {
    const [claim = "", command = "", mounts = "", landlock = ""] = line
      .slice(1)
      .split(" | ")
      .map((cell) => cell.replace(/\|$/, "").trim());
    return {
      claim,
      command: command.slice(1, -1),
      byTier: { mounts: expectedBy(mounts), landlock: expectedBy(landlock) },
    };
  });
}

function expectedBy(cell: string): Expected {
  const said = [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text);
  return { said, nothing: /\bnothing\b/.test(cell), gap: cell === "a gap" };
}

type Tier = keyof Row["byTier"];

/** A home and a repository as a reader has them: not below /tmp, which the sandbox hides. */
function makeReader(tier: Tier) {
  const base = mkdtempSync("/var/tmp/koda-docs-");
  const at = (name: string) => join(base, name);
  for (const directory of ["home/.ssh", "home/.local/share/koda", "home/.config/koda", "project", "tmp", "bin"])
    mkdirSync(at(directory), { recursive: true });
  for (const file of [
    ".ssh/known_hosts",
    ".local/share/koda/koda.db",
    ".config/koda/config.json",
    ".profile",
    ".netrc",
  ])
    writeFileSync(at(`home/${file}`), "x");
  writeFileSync(at("home/.config/koda/config.json"), "{}");
  const script = () => `#!/bin/sh\nexec "${programWithout(asInDocker, base)}" "${binary}" "$@"\n`;
  if (tier === "mounts") symlinkSync(binary, at("bin/koda"));
  else writeFileSync(at("bin/koda"), script(), { mode: 0o755 });
  const env = { HOME: at("home"), TMPDIR: at("tmp"), PATH: `${at("bin")}:${process.env.PATH ?? ""}`, LANG: "C.UTF-8" };
  Bun.spawnSync(["git", "init", "-q"], { cwd: at("project"), env });
  return { project: at("project"), env, [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }) };
}

async function told(command: string, tier: Tier): Promise<string> {
  using reader = makeReader(tier);
  if (command.includes(".npmrc"))
    writeFileSync(join(reader.env.HOME, ".npmrc"), "registry=https://npm.example.com/\n_authToken=secret\n");
  // Somebody else may be trying the same line at the same time.
  const time = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  const child = Bun.spawn(["bash", "-c", command.replaceAll("sleep 601", `sleep 601.${time}`)], {
    cwd: reader.project,
    env: reader.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return stdout + stderr;
}

/** Programs that a reader may not have. */
const isThere = (command: string) =>
  ["curl", "git", "unshare", "mount", "pgrep", "timeout"].every(
    (program) => !new RegExp(`\\b${program}\\b`).test(command) || Bun.which(program) !== null,
  );

const waits = ({ command }: Pick<Row, "command">) => /\bsleep [1-9]\b/.test(command);

/** The sandbox of this machine, undisturbed and as in a container. */
async function isTierHere(tier: Tier): Promise<boolean> {
  const { backend } = JSON.parse((await told("koda sandbox --json -- true", tier)).split("\n")[0] ?? "") as {
    backend: string;
  };
  return (backend === "landlock") === (tier === "landlock");
}

test("the page has a table of claims", () => expect(rows.length).toBeGreaterThan(25));

for (const tier of ["mounts", "landlock"] as const) {
  const isHere = await isTierHere(tier);
  describe.skipIf(!isHere)(`docs/sandbox.md, ${tier === "mounts" ? "tiers 1 and 2" : "tier 3"}:`, () => {
    // Those that wait for a second or more wait together.
    const [together, others] = [rows.filter(waits), rows.filter((row) => !waits(row))];
    for (const { claim, command, byTier } of [...together, ...others]) {
      const { said, nothing, gap } = byTier[tier];
      const trying = waits({ command }) ? test.concurrent : test;
      trying.skipIf(gap || !isThere(command))(`${claim}: ${command}`, async () => {
        expect(said.length > 0 || nothing, "the table says what is seen").toBe(true);
        const output = await told(command, tier);
        if (nothing) expect(output).toBe("");
        else
          expect(
            said.filter((text) => output.includes(text)),
            output,
          ).not.toEqual([]);
      });
    }
  });
}
