import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runAction } from "../support/actionrunner.ts";
import { archive, isInstallable, serveRelease } from "../support/installer.ts";
import { binary } from "../support/koda.ts";
import { call, say, status } from "../support/model-reply.ts";
import { type Script, startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { faultsOf, hasSchema } from "../support/publishedschemas.ts";
import { finding, found, makeRepository } from "../support/review.ts";

const hasPrograms = Bun.which("jq") !== null && Bun.which("bash") !== null;
const onlyHere = test.skipIf(!hasPrograms);

async function open(script: Script, place: Place = makePlace()) {
  const server = await startModelServer(script);
  let attempt = 0;
  return {
    place,
    server,
    run: (inputs: Record<string, string>) =>
      runAction(place, "action", {
        inputs: { executable: binary, model: "scripted", args: `--base-url\n${server.url}`, ...inputs },
        cache: join(place.home, "cache"),
        attempt: ++attempt,
      }),
    async [Symbol.asyncDispose]() {
      await server.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

onlyHere("a task has its answer, its cost and its changes as outputs", async () => {
  await using job = await open([call("Write", { path: "a.txt", content: "a\n" }), say("two\nlines")]);
  const { exit, outputs, summary } = await job.run({ prompt: 'say "$(touch pwned)" `touch pwned`; touch pwned' });
  expect(exit).toBe(0);
  expect(outputs).toMatchObject({ exit: "0", status: "done", text: "two\nlines", output: "", cost: "" });
  expect(outputs.session).toMatch(/^[\da-f-]{36}$/);
  expect(readFileSync(outputs.patch ?? "", "utf8")).toContain("+++ b/a.txt");
  expect(summary).toContain("### koda: done (exit 0)");
  expect(summary).toContain("two\nlines");
  expect(summary).toContain("| files changed | 1 |");
  expect(existsSync(join(job.place.project, "pwned"))).toBe(false);
  expect(job.server.requests[0]?.raw).toContain("touch pwned");
});

onlyHere("a failure fails the step with koda's exit code, and all outputs are there", async () => {
  await using job = await open([status(401, { error: { message: "bad key" } })]);
  const { exit, outputs, log, summary } = await job.run({ prompt: "go" });
  expect(exit).toBe(4);
  expect(outputs).toMatchObject({ exit: "4", status: "failed", text: "" });
  expect(log).toMatch(/::error title=koda \(exit 4\)::.*bad key/);
  expect(summary).toContain("| error |");
});

onlyHere("nothing that the model or a command prints is a command to the runner", async () => {
  await using job = await open([call("Bash", { command: "echo ::error::forged" }), say("::warning::forged")]);
  const { log } = await job.run({ prompt: "go" });
  expect(commandsIn(log).filter((line) => line.includes("forged"))).toEqual([]);
});

onlyHere("nor is what a provider says when it refuses", async () => {
  await using job = await open([status(401, { error: { message: "bad key\r::warning::forged\n::warning::forged" } })]);
  const { log } = await job.run({ prompt: "go" });
  expect(log).toContain("forged");
  expect(commandsIn(log).filter((line) => line.startsWith("::warning"))).toEqual([]);
});

/** The lines that the runner obeys. For it, a carriage return ends a line too. */
function commandsIn(log: string): string[] {
  let stopped: string | undefined;
  return log.split(/\r\n|[\r\n]/).filter((line) => {
    if (stopped !== undefined) {
      if (line === `::${stopped}::`) stopped = undefined;
      return false;
    }
    stopped = /^::stop-commands::(.+)$/.exec(line)?.[1];
    return /^\s*::/.test(line);
  });
}

onlyHere("inputs become koda's flags", async () => {
  await using job = await open([say("done")]);
  writeFileSync(join(job.place.project, "task.md"), "from a file");
  const { exit } = await job.run({
    "prompt-file": "task.md",
    mode: "plan",
    "allow-net": "*.npmjs.org\n\ncrates.io\n",
    timeout: "1m",
    verify: "true",
  });
  expect(exit).toBe(0);
  expect(job.server.requests[0]?.raw).toContain("from a file");
});

onlyHere("a failed verification and --fail-on fail the step", async () => {
  await using verified = await open(() => say("done"));
  expect((await verified.run({ prompt: "go", verify: "false" })).exit).toBe(8);
  await using idle = await open([say("nothing to do")]);
  expect((await idle.run({ prompt: "go", "fail-on": "no-change" })).exit).toBe(3);
});

onlyHere("runs with the name of a session are one conversation", async () => {
  await using job = await open([say("first"), say("second")]);
  mkdirSync(join(job.place.home, "cache"));
  const first = await job.run({ prompt: "one", session: "nightly" });
  expect(first.outputs.session).toBe("nightly");
  await job.run({ prompt: "two", session: "nightly" });
  expect(job.server.requests[1]?.raw).toContain("one");
});

onlyHere("a review annotates lines, and fails from a severity on", async () => {
  const defect = found(finding("a.txt", { severity: "high", title: "Wrong" }));
  await using job = await open(() => defect, makeRepository({ "b.txt": "b\n" }));
  writeFileSync(join(job.place.project, "a.txt"), "a\n");
  const { exit, outputs, log, summary } = await job.run({ review: "uncommitted", "fail-on": "high" });
  expect(exit).toBe(3);
  expect(commandsIn(log).find((line) => line.includes("file=a.txt"))).toMatch(/^::error .*line=1/);
  expect(JSON.parse(outputs.output ?? "")).toMatchObject({ findings: [{ title: "Wrong" }] });
  expect(summary).toContain("- **high** `a.txt:1` Wrong");
});

test.skipIf(!hasPrograms || !isInstallable)("koda is installed where none is given", async () => {
  await using release = await serveRelease({
    program: 'echo "{\\"type\\":\\"end\\",\\"status\\":\\"done\\",\\"text\\":\\"hi\\"}"',
  });
  await using place = makePlace();
  const inputs = { prompt: "go", version: "9.9.9", "download-base": release.base };
  const { exit, outputs } = await runAction(place, "action", { inputs });
  expect(exit).toBe(0);
  expect(outputs.text).toBe("hi");
  expect(release.asked.at(-1)).toStartWith(archive);
});

test.skipIf(!hasSchema("github-action"))("the action is what GitHub's schema allows", () => {
  expect(faultsOf(Bun.YAML.parse(readFileSync("action/action.yml", "utf8")), "github-action")).toEqual([]);
  expect(faultsOf({ name: "koda" }, "github-action")).not.toEqual([]);
});

test.skipIf(Bun.which("shellcheck") === null)("shellcheck has nothing to say about run.sh", () => {
  expect(Bun.spawnSync(["shellcheck", "action/run.sh"], { stdout: "pipe" }).stdout.toString()).toBe("");
});
