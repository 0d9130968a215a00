import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { shellBlocks } from "../support/docs/shell.ts";
import { Turns } from "../support/hostile.ts";
import { binary } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { type ModelRequestSeen, type ModelServer, startModelServer } from "../support/model-server.ts";
import { finding, found, type GitPlace, makeRepository } from "../support/review.ts";
import { resultRow } from "../support/results.ts";
import { runIn } from "../support/run.ts";

const pages = ["README.md", ...[...new Bun.Glob("docs/*.md").scanSync()].toSorted()];

/** The programs that the lines may use; any other is left out, as if it had worked. */
const programs =
  "bash cat cp env false find git grep head jq ls mkdir printf sed sh sleep tail timeout touch tr true".split(" ");

/**
 * Notes the arguments and the exit code of each koda. A proxy and a worker run until they are stopped, but for a worker
 * that ends when all is done: others wait for that.
 */
const wrapper = `#!/bin/sh
case $* in *'--drain-after 1s') limit=50 ;; proxy* | worker*) limit=1 ;; *) limit=50 ;; esac
timeout --preserve-status "$limit" "${binary}" "$@"
code=$?
[ "$1-$code" = worker-143 ] && code=0
printf '%s koda %s\\n' "$code" "$*" | tr '\\n' ' ' >> "$KODA_LINES"
echo >> "$KODA_LINES"
exit "$code"
`;

/** The results of one of two shards. */
function shardOf(index: number, key: string): Record<string, string> {
  const shard = { index, of: 2 };
  const list = { digest: "d", total: 2 };
  const heading = { koda: "batch results", batch: `b${index}`, list, shard, tasks: 1, exit: 0 };
  return {
    [`shard-${index}/batch.json`]: JSON.stringify(heading),
    [`shard-${index}/results.jsonl`]: `${JSON.stringify(resultRow({ key }))}\n`,
  };
}

/** A repository with all that the lines take for granted. */
function makeReader(): GitPlace {
  const schema = JSON.stringify({ type: "object", properties: { done: { type: "boolean" } }, required: ["done"] });
  const place = makeRepository({
    "src/parse.c": "int main(void) { return 0; }\n",
    "test.sh": "exit 1\n",
    "answer.json": schema,
    list: "src/parse.c\n",
    "tasks.jsonl": '{"key":"a","prompt":"Say hello."}\n',
    "repos.txt": ".\n",
    "task.md": "Fix it.\n",
    ...shardOf(1, "a"),
    ...shardOf(2, "b"),
    "shot.png": "not an image",
  });
  for (const name of ["second", "third"]) place.git("commit", "-q", "--allow-empty", "-m", name);
  place.git("branch", "-M", "main");
  place.git("update-ref", "refs/remotes/origin/main", "main");
  for (const directory of [join(place.home, "bin"), join(place.home, ".config/koda"), join(place.project, "../shared")])
    mkdirSync(directory, { recursive: true });
  for (const name of programs) {
    const path = Bun.which(name);
    if (path !== null) symlinkSync(path, join(place.home, "bin", name));
  }
  place.write("koda.sh", wrapper);
  chmodSync(join(place.project, "koda.sh"), 0o755);
  symlinkSync(join(place.project, "koda.sh"), join(place.home, "bin/koda"));
  return place;
}

/** A model that is content with everything, in the form that it is asked for. */
function content({ body }: ModelRequestSeen) {
  const asked = JSON.stringify(body);
  if (asked.includes("matching this JSON Schema")) return say('{"done":true,"risk":"low","why":"It is small."}');
  return asked.includes("Review ") ? found(finding("src/parse.c")) : say("Done.");
}

/** `0 koda exec …` of each koda that these pieces of shell start, one after the other in one place. */
async function ran(pieces: readonly string[], server: ModelServer): Promise<string[]> {
  await using place = makeReader();
  const lines = join(place.home, "lines");
  const env = {
    PATH: join(place.home, "bin"),
    KODA_LINES: lines,
    OPENAI_API_KEY: "sk-test-123456789",
    OPENAI_BASE_URL: server.url,
    // Nothing leaves this machine.
    HTTPS_PROXY: "http://127.0.0.1:1",
    BUILD_ID: "7",
    SLURM_ARRAY_TASK_ID: "0",
    SLURM_ARRAY_TASK_COUNT: "2",
  };
  for (const code of pieces) {
    await runIn(place, ["/bin/bash", "-c", `command_not_found_handle() { return 0; }\n${code}`], { env });
    // The demo writes over nothing, and several pages begin with it.
    rmSync(join(place.project, "koda-demo"), { recursive: true, force: true });
  }
  return existsSync(lines) ? readFileSync(lines, "utf8").trimEnd().split("\n") : [];
}

/** Wrong on the command line, a bug, or ended by `timeout`. */
const isWrong = /^(?:2|70|137|143) /;

/** The turns before it were complete, so there is nothing to finish. */
const hasNothingToFinish = "2 koda exec --last ";

/** Some wait for a proxy or a worker, which run until their limit. */
const turns = new Turns(3);

describe.concurrent("koda carries out the command lines of", () => {
  for (const page of pages) test(page, async () => await turns.take(async () => await judge(page)));
});

async function judge(page: string): Promise<void> {
  await using server = await startModelServer(content, { strict: false });
  const blocks = shellBlocks(page);
  const lines = await ran(blocks, server);
  expect(lines.filter((line) => isWrong.test(line) && line !== hasNothingToFinish)).toEqual([]);
  // Alternatives run only one of their lines.
  expect(lines.length).toBeGreaterThanOrEqual(blocks.filter((code) => /^(?:\w+=\S+ )*koda /m.test(code)).length);
}

test("a page without a shell in it would be noticed", () => {
  const lines = pages
    .flatMap(shellBlocks)
    .join("\n")
    .match(/\bkoda (?:[a-z-]+)/g);
  expect(lines?.length).toBeGreaterThan(80);
});
