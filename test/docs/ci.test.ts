import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { binary } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { type ModelServer, type Script, startModelServer } from "../support/model-server.ts";
import { finding, found, type GitPlace, makeRepository } from "../support/review.ts";
import { runIn, type Ran } from "../support/run.ts";

const page = readFileSync("docs/ci.md", "utf8");

/** The code below a heading of the page. */
function recipe(heading: string): string {
  const [, rest = ""] = page.split(`\n## ${heading}\n`);
  const [, code = ""] = /^```\w+\n([\s\S]*?)^```$/m.exec(rest.split("\n## ")[0] ?? "") ?? [];
  return code;
}

/** A repository as a CI service checks it out: a branch, and its base as a remote has it. */
function makeCheckout(): GitPlace {
  const place = makeRepository({ "test.sh": "echo broken; exit 1\n", "CHANGELOG.md": "# Changes\n" });
  place.git("branch", "-M", "main");
  place.git("update-ref", "refs/remotes/origin/main", "main");
  place.git("checkout", "-q", "-b", "feature");
  place.write("new.txt", "one\n");
  place.git("add", "-A");
  place.git("commit", "-q", "-m", "second");
  mkdirSync(join(place.home, "bin"));
  symlinkSync(binary, join(place.home, "bin/koda"));
  return place;
}

type Job = { replies: Script; check: (ran: Ran, place: GitPlace, server: ModelServer) => void | Promise<void> };

async function run(code: string, { replies, check }: Job, shell = "bash"): Promise<void> {
  await using place = makeCheckout();
  await using server = await startModelServer(replies);
  const env = {
    PATH: `${join(place.home, "bin")}:${place.env.PATH ?? ""}`,
    OPENAI_API_KEY: "sk-test-123456789",
    OPENAI_BASE_URL: server.url,
    BUILD_ID: "7",
    GITHUB_BASE_REF: "main",
    CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main",
  };
  const ran = await runIn(place, [shell, "-eu", "-c", code], { env });
  expect(server.problems).toEqual([]);
  await check(ran, place, server);
}

const read = (place: GitPlace, file: string) => readFileSync(join(place.project, file), "utf8");
const repair = call("Bash", { command: "echo exit 0 > test.sh" });
const severe = found(finding("new.txt", { severity: "high", title: "A leak" }));

const recipes: Readonly<Record<string, Job>> = {
  "Repair a failing build": {
    replies: [repair, say("Repaired.")],
    check: ({ exit, stdout, stderr }, place) => {
      expect([exit, stdout], stderr).toEqual([0, "Repaired.\n"]);
      expect(read(place, "fix.patch")).toContain("+++ b/test.sh");
    },
  },
  "Explain a failure": {
    replies: [say("It exits with 1.")],
    check: ({ exit, stderr }, place, { requests }) => {
      expect(exit, stderr).toBe(0);
      expect(read(place, "explanation.md")).toBe("It exits with 1.");
      expect(JSON.stringify(requests[0]?.body)).toContain("broken");
    },
  },
  "Decide by the reason": {
    replies: [say("There is nothing new.")],
    check: ({ exit, stdout, stderr }) =>
      expect([exit, stdout.trimEnd().split("\n").at(-1)], stderr).toEqual([0, "nothing to do"]),
  },
  "An answer for a program": {
    replies: [say('{"risk":"low","why":"It adds a file."}')],
    check: ({ exit, stdout, stderr }) => expect([exit, stdout], stderr).toEqual([0, "low\n"]),
  },
  "Follow a run": {
    replies: [call("Bash", { command: "true" }), say("No errors.")],
    check: ({ exit, stdout, stderr }) => {
      expect(exit, stderr).toBe(0);
      expect(stdout).toMatch(/^Bash true \d+(?:\.\d+)?\ndone 0 [\w-]+\n$/);
    },
  },
  "Keep the sessions": {
    replies: [say("Fixed."), say("Written.")],
    check: ({ exit, stdout, stderr }, _, { requests }) => {
      expect([exit, stdout], stderr).toEqual([0, "Fixed.\nWritten.\n"]);
      expect(JSON.stringify(requests[1]?.body)).toContain("fix the build");
    },
  },
  "Test the job without a model": {
    replies: [repair, say("Done.")],
    check: ({ exit, stdout, stderr }, place, { requests }) => {
      expect([exit, stdout], stderr).toEqual([0, "Done.\nDone.\n"]);
      expect(requests).toHaveLength(2);
      expect(read(place, "test.sh")).toBe("exit 0\n");
    },
  },
  "Jenkins and others that read JUnit": {
    replies: [severe],
    check: ({ exit, stderr }, place) => {
      expect(exit, stderr).toBe(3);
      expect(read(place, "koda-review.xml")).toContain("A leak");
    },
  },
};

/** The lines of a workflow that run koda, as one script. */
function linesOfWorkflow(yaml: string): string {
  const lines: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === "string" && value.startsWith("koda ")) lines.push(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(visit);
  };
  visit(Bun.YAML.parse(yaml));
  return lines.join("\n");
}

const workflows: Readonly<Record<string, Job>> = {
  "GitHub Actions": {
    replies: [severe],
    check: ({ exit, stdout, stderr }) => {
      expect(exit, stderr).toBe(3);
      expect(stdout).toMatch(/^::error .*file=new\.txt,/m);
    },
  },
  GitLab: {
    replies: [severe],
    check: ({ exit, stderr }, place) => {
      expect(exit, stderr).toBe(0);
      expect(JSON.parse(read(place, "gl-code-quality.json"))).toMatchObject([{ location: { path: "new.txt" } }]);
    },
  },
};

const needs = (code: string) => ["jq", "git"].every((name) => !code.includes(`${name} `) || Bun.which(name) !== null);

describe("docs/ci.md:", () => {
  for (const [heading, job] of Object.entries(recipes))
    test.skipIf(!needs(recipe(heading)))(heading, async () => await run(recipe(heading), job));
  for (const [heading, job] of Object.entries(workflows))
    test(heading, async () => await run(linesOfWorkflow(recipe(heading)), job, "sh"));

  test("no recipe is left out", () => {
    const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, heading = ""]) => heading);
    expect(headings).toEqual([
      ...Object.keys(recipes).slice(0, -1),
      ...Object.keys(workflows),
      ...Object.keys(recipes).slice(-1),
    ]);
    for (const heading of headings) expect(recipe(heading)).not.toBe("");
  });
});
