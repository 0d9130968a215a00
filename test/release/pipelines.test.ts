import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binary } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { finding, found, makeRepository } from "../support/review.ts";
import { runIn } from "../support/run.ts";

type Job = { script: readonly string[]; before_script?: readonly string[] };

const gitlab = Bun.YAML.parse(readFileSync("action/gitlab-ci.yml", "utf8")) as Record<string, Job>;
const jenkins = [...readFileSync("action/Jenkinsfile", "utf8").matchAll(/sh '''\n([\s\S]*?)'''/g)].map(
  ([, sh = ""]) => sh,
);

/** A place whose configuration has a scripted model, and whose PATH has koda. */
function prepare(place: Place, { url }: { url: string }): Record<string, string> {
  configure(place, { model: "scripted/one", providers: { scripted: { base_url: url } } });
  const bin = join(place.home, "bin");
  mkdirSync(bin);
  symlinkSync(binary, join(bin, "koda"));
  return { PATH: `${bin}:${process.env.PATH}`, WORKSPACE_TMP: place.home };
}

async function branch() {
  const place = makeRepository({ "b.txt": "b\n" });
  place.git("update-ref", "refs/remotes/origin/main", "HEAD");
  writeFileSync(join(place.project, "a.txt"), "a\n");
  place.git("add", "-A");
  place.git("commit", "-q", "-m", "second");
  const server = await startModelServer(() => found(finding("a.txt", { title: "Wrong" })));
  return {
    place,
    variables: prepare(place, server),
    async [Symbol.asyncDispose]() {
      await server.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

test("GitLab's review job writes a report for the merge request", async () => {
  await using job = await branch();
  const env = { ...job.variables, CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main" };
  const ran = await runIn(job.place, ["sh", "-ec", gitlab["koda-review"]?.script.join("\n") ?? ""], { env });
  expect(ran.exit, ran.stderr).toBe(0);
  expect(await Bun.file(join(job.place.project, "koda.json")).json()).toMatchObject([{ location: { path: "a.txt" } }]);
});

test("GitLab's task job leaves a patch", async () => {
  await using place = makeRepository();
  await using server = await startModelServer([call("Write", { path: "new.txt", content: "n\n" }), say("done")]);
  const env = { ...prepare(place, server), KODA_PROMPT: "-f is no flag here" };
  const ran = await runIn(place, ["sh", "-ec", gitlab["koda-task"]?.script.join("\n") ?? ""], { env });
  expect(ran.exit, ran.stderr).toBe(0);
  expect(readFileSync(join(place.project, "koda.patch"), "utf8")).toContain("+++ b/new.txt");
  expect(server.requests[0]?.raw).toContain("-f is no flag here");
});

test("Jenkins's review writes test results", async () => {
  await using job = await branch();
  const env = { ...job.variables, CHANGE_TARGET: "main" };
  const ran = await runIn(job.place, ["sh", "-xe", "-c", jenkins.at(-1) ?? ""], { env });
  expect(ran.exit, ran.stderr).toBe(0);
  expect(readFileSync(join(job.place.project, "koda.xml"), "utf8")).toContain('message="a.txt:1 Wrong"');
});

const installing = {
  GitLab: gitlab[".koda"]?.before_script?.slice(1).join("\n").replaceAll("/usr/local/bin", "$WORKSPACE_TMP/bin") ?? "",
  Jenkins: jenkins[0] ?? "",
};
test.skipIf(Bun.which("curl") === null).each(Object.entries(installing))(
  "%s installs koda, and fails where there is none",
  async (_, script) => {
    await using place = makePlace();
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) =>
        url.endsWith("/v9.9.9/install.sh") ? new Response('echo "$@"') : new Response("no", { status: 404 }),
    });
    const base = `http://127.0.0.1:${server.port}`;
    const run = (KODA_VERSION: string) =>
      runIn(place, ["sh", "-xe", "-c", script], {
        env: { KODA_DOWNLOAD_BASE: base, KODA_VERSION, WORKSPACE_TMP: place.home },
      });
    expect(await run("9.9.9")).toMatchObject({ exit: 0, stdout: `--to ${place.home}/bin --version 9.9.9\n` });
    expect(await run("8.8.8")).toMatchObject({ exit: 22, stdout: "" });
  },
);
