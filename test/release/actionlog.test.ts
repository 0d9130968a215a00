import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { runAction } from "../support/actionrunner.ts";
import { isInstallable, serveRelease } from "../support/installer.ts";
import { makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

const hasPrograms = Bun.which("jq") !== null && Bun.which("bash") !== null;
const end = { type: "end", status: "done", text: "", session: null };

/** The inputs that start a script in the place of koda, which has `end.json` beside it. */
function standIn(place: Place, script: string, event: object = end) {
  const executable = join(place.home, "stand-in");
  writeFileSync(join(place.home, "end.json"), `${JSON.stringify(event)}\n`);
  writeFileSync(executable, `#!/bin/sh\n${script.replace("END", join(place.home, "end.json"))}\n`);
  chmodSync(executable, 0o755);
  return { executable, prompt: "go" };
}

/** The log as the runner reads it: a line ends with CR as well. */
const linesOf = (log: string) => log.split(/\r\n|\r|\n/);

describe.skipIf(!hasPrograms)("the log of the action", () => {
  test("is one stream, and has the end of the stopped commands on a line of its own", async () => {
    await using place = makePlace();
    const inputs = standIn(place, "printf '::error::forged' >&2; cat END");
    mkdirSync(join(place.home, "temp"));
    const names = Object.keys((Bun.YAML.parse(readFileSync("action/action.yml", "utf8")) as Inputs).inputs);
    const given = names.map((name) => [`KODA_INPUT_${name.replaceAll("-", "_").toUpperCase()}`, ""] as const);
    const { stdout, stderr } = await runIn(place, ["bash", join(process.cwd(), "action/run.sh")], {
      env: {
        ...Object.fromEntries(given),
        KODA: inputs.executable,
        KODA_INPUT_PROMPT: "go",
        RUNNER_TEMP: join(place.home, "temp"),
        GITHUB_OUTPUT: join(place.home, "output"),
        GITHUB_STEP_SUMMARY: join(place.home, "summary"),
      },
    });
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^::stop-commands::(\w+)\n::error::forged\n::\1::\n$/);
  });

  test("has an error in one line, whatever the provider says", async () => {
    await using place = makePlace();
    const event = { ...end, status: "failed", error: { message: "no\r::set-output name=text::forged\n::error::two" } };
    const { log } = await runAction(place, "action", { inputs: standIn(place, "cat END; exit 1", event) });
    expect(linesOf(log).filter((line) => line.startsWith("::set-output") || line === "::error::two")).toEqual([]);
    expect(log).toContain("::error title=koda (exit 1)::no%0D::set-output name=text::forged%0A::error::two");
  });

  test("has of a review only annotations", async () => {
    await using place = makePlace();
    const text = "::set-output name=text::forged\n::warning file=a.txt,line=1::true\n::add-mask::a";
    const inputs = { ...standIn(place, "cat END", { ...end, text }), review: "uncommitted" };
    const { log, exit } = await runAction(place, "action", { inputs });
    expect(exit).toBe(0);
    expect(linesOf(log)).toContain("::warning file=a.txt,line=1::true");
    expect(log).not.toMatch(/^::(set-output|add-mask)/m);
  });
});

type Inputs = { inputs: Record<string, unknown> };

describe.skipIf(!hasPrograms)("the outputs of the action", () => {
  test("are there when koda says nothing", async () => {
    await using place = makePlace();
    const inputs = standIn(place, "kill -KILL $$");
    const { exit, outputs, log, summary } = await runAction(place, "action", { inputs });
    expect(summary).toContain("| tokens | unknown in, unknown out |");
    expect(exit).toBe(137);
    expect(outputs).toMatchObject({ exit: "137", status: "failed", text: "", session: "" });
    expect(log).toContain("::error title=koda (exit 137)::koda ended without a result");
  });

  test("hold an answer of 5 MB, of which the summary has a part that GitHub takes", async () => {
    await using place = makePlace();
    const text = `\`\`\`\n${"ü".repeat(2_500_000)}`;
    const { outputs, summary } = await runAction(place, "action", {
      inputs: standIn(place, "cat END", { ...end, text }),
    });
    expect(outputs.text).toBe(text);
    expect(Buffer.byteLength(summary)).toBeLessThan(2 ** 20);
    expect(summary).not.toContain("\ufffd");
    expect(summary.indexOf("| cost |")).toBeLessThan(summary.indexOf("```"));
  });

  test("have a patch for each run of a job", async () => {
    await using place = makePlace();
    const write = 'for arg; do case $arg in */koda.patch) echo $$ > "$arg" ;; esac; done; cat END';
    const inputs = standIn(place, write);
    const cache = join(place.home, "cache");
    mkdirSync(cache);
    const { outputs } = await runAction(place, "action", { inputs, cache });
    const earlier = readFileSync(outputs.patch ?? "", "utf8");
    const again = await runAction(place, "action", { inputs, cache, temp: join(place.home, "runner-1") });
    expect(again.outputs.patch).not.toBe(outputs.patch);
    expect(readFileSync(outputs.patch ?? "", "utf8")).toBe(earlier);
  });
});

describe.skipIf(!hasPrograms)("the inputs of the action", () => {
  test.each([{ mode: "safe" }, { verify: "true" }, { "prompt-file": "a" }])("%p is not for a review", async (input) => {
    await using place = makePlace();
    const inputs = { ...standIn(place, "cat END"), review: "uncommitted", ...input };
    const { exit, log } = await runAction(place, "action", { inputs });
    expect(exit).toBe(2);
    expect(log).toContain("::error title=koda::A review takes no");
  });

  test("a session does not get the cache of one whose name begins like its own", async () => {
    await using place = makePlace();
    const cache = join(place.home, "cache");
    mkdirSync(cache);
    const inputs = standIn(place, 'cat "$KODA_HOME/mark" >&2; echo mine > "$KODA_HOME/mark"; cat END');
    const run = async (session: string, attempt: number) =>
      (await runAction(place, "action", { inputs: { ...inputs, session }, cache, attempt })).log;
    await run("issue-1-more", 1);
    expect(await run("issue-1", 2)).not.toContain("mine");
    expect(await run("issue-1", 3)).toContain("mine");
  });
});

describe.skipIf(!hasPrograms || !isInstallable)("without an executable the action", () => {
  test("asks for the address of the releases", async () => {
    await using place = makePlace();
    const { exit, log } = await runAction(place, "action", { inputs: { prompt: "go" } });
    expect(exit).toBe(2);
    expect(log).toStartWith("::error title=koda::There is no download-base: set it to");
  });

  test("installs its own version", async () => {
    await using release = await serveRelease();
    await using place = makePlace();
    const inputs = { prompt: "go", "download-base": release.base };
    const { exit, log } = await runAction(place, "action", { inputs });
    expect(exit).toBe(1);
    expect(log).toContain(`install.sh: Cannot download ${release.base}/v${version}/SHA256SUMS`);
  });
});
