import { describe, expect, test } from "bun:test";
import type { RanExec } from "../support/koda.ts";
import type { Finding } from "../../lib/review/findings.ts";
import { call, problem } from "../support/model-reply.ts";
import { type ModelRequestSeen, startModelServer } from "../support/model-server.ts";
import {
  askedOf,
  findBugs,
  finding,
  found,
  type GitPlace,
  makeRepository,
  noticesOf,
  review,
} from "../support/review.ts";
import { readSarif } from "../support/sarif.ts";
import { seeded } from "../support/random.ts";

const files = 10;
const defects = 20;

/** A repository with changes in many places, of which twenty are defects; and these. */
function makeDefects(): { place: GitPlace; bugs: Finding[] } {
  const random = seeded(20);
  const linesOf = (file: number) =>
    Array.from({ length: 120 }, (_, line) => `line ${line} of file ${file} ${"x".repeat(30)}`);
  const nameOf = (file: number) => `src/file${file}.ts`;
  const texts = Array.from({ length: files }, (_, file) => linesOf(file));
  const place = makeRepository(Object.fromEntries(texts.map((lines, file) => [nameOf(file), `${lines.join("\n")}\n`])));
  for (const lines of texts)
    for (let count = 0; count < 8; count++) lines.splice(random() * lines.length, 1, "harmless");
  for (let bug = 0; bug < defects; bug++) texts[bug % files]?.splice(random() * 120, 0, `  BUG ${bug}`);
  for (const [file, lines] of texts.entries()) place.write(nameOf(file), `${lines.join("\n")}\n`);
  place.write("src/added.ts", Array.from({ length: 900 }, (_, line) => `added ${line} ${"y".repeat(40)}\n`).join(""));
  const bugs = texts.flatMap((lines, file) =>
    lines.flatMap((text, at) => {
      const place = { start_line: at + 1, end_line: at + 1 };
      return text.includes("BUG") ? [finding(nameOf(file), { ...place, title: text })] : [];
    }),
  );
  return { place, bugs };
}

const inOrder = (findings: readonly Finding[]) => findings.map((each) => JSON.stringify(each)).toSorted();

describe("of twenty seeded defects exactly these are found", () => {
  const windows: readonly [name: string, window: number, leastParts: number][] = [
    ["by one reviewer", 200_000, 1],
    ["by several, each with a part", 12_000, 4],
  ];
  for (const [name, window, parts] of windows)
    test(name, async () => {
      const { place, bugs } = makeDefects();
      await using _ = place;
      await using server = await startModelServer(findBugs);
      const ran = await review(place, server, ["--config", `model_defaults.context_window=${window}`]);
      const { findings } = ran.end.output as { findings: Finding[] };
      expect(bugs).toHaveLength(defects);
      expect(inOrder(findings)).toEqual(inOrder(bugs));
      expect(server.requests.length >= parts).toBe(true);
      expect(ran.end.agents).toEqual({ ok: server.requests.length, failed: 0, cancelled: 0 });
      // A part is about as large as it may be, and all of the diff is in one of them.
      const asked = server.requests.map(askedOf);
      for (const text of asked) expect(text.length).toBeLessThan(window * 3.5);
      const added = asked.join("\n").match(/^\+added \d+ /gm) ?? [];
      expect(new Set(added).size).toBe(900);
      expect(added).toHaveLength(900);
    });
});

test("parts are reviewed at the same time, and what two have found is told once", async () => {
  const { place } = makeDefects();
  await using _ = place;
  const both = Promise.withResolvers<void>();
  let begun = 0;
  await using server = await startModelServer(async () => {
    if (++begun === 2) both.resolve();
    await both.promise;
    return found(finding("src/file1.ts", { title: "Said by all" }));
  });
  const ran = await review(place, server, ["--config", "model_defaults.context_window=12000"]);
  expect(ran.end.output).toMatchObject({ findings: [{ title: "Said by all" }], summary: "A summary." });
  const parts = server.requests.length;
  expect(noticesOf(ran)).toContain(`Reviewing the uncommitted changes: 11 files in ${parts} parts`);
  expect(server.requests.map((request) => / part (\d+ of \d+);/.exec(askedOf(request))?.[1]).toSorted()).toEqual(
    Array.from({ length: parts }, (_, at) => `${at + 1} of ${parts}`).toSorted(),
  );
});

test("when a part fails the whole review has failed, without findings", async () => {
  const { place } = makeDefects();
  await using _ = place;
  await using server = await startModelServer((request, index) =>
    index === 1 ? problem(400, "No such luck") : findBugs(request),
  );
  const ran = await review(place, server, ["--config", "model_defaults.context_window=12000"]);
  expect([ran.end.status, ran.end.exit, ran.end.output, ran.end.text]).toEqual(["failed", 1, undefined, ""]);
  expect(ran.end.error?.message).toContain("No such luck");
  expect(noticesOf(ran)).toContain("The review ended early, so there are no findings");
});

test("more parts than requests are allowed are refused before the first of them", async () => {
  const { place } = makeDefects();
  await using _ = place;
  await using server = await startModelServer(findBugs);
  const ran = await review(place, server, ["--config", "model_defaults.context_window=12000", "--max-turns", "2"]);
  expect([ran.end.status, ran.end.exit, server.requests.length]).toEqual(["limit", 5, 0]);
  expect(ran.end.error?.message).toMatch(/in \d+ parts, and the limit is 2 requests: raise --max-turns/);
});

test("limits count all reviewers together", async () => {
  const { place } = makeDefects();
  await using _ = place;
  // Each wants one request more than there are parts.
  const script = (request: ModelRequestSeen) =>
    request.lines.some(({ role }) => role === "tool") ? findBugs(request) : call("List", { path: "." });
  await using server = await startModelServer(script);
  const small = ["--config", "model_defaults.context_window=12000"];
  const parts = partsIn(await review(place, server, small));
  const before = server.requests.length;
  const ran = await review(place, server, [...small, "--max-turns", `${parts + 1}`]);
  expect([ran.end.status, ran.end.exit, ran.end.output]).toEqual(["limit", 5, undefined]);
  expect(server.requests.length - before).toBeLessThanOrEqual(parts + 1);
});

function partsIn(ran: RanExec): number {
  const [, parts] = noticesOf(ran).flatMap((line) => / in (\d+) parts$/.exec(line) ?? []);
  return Number(parts);
}

test("a second push does not report a finding again: its fingerprint stays when lines above have moved", async () => {
  await using place = makeRepository({ "a.ts": "first\nsecond\n" });
  place.write("a.ts", "first\nsecond\nBUG 1\n");
  await using server = await startModelServer(findBugs);
  const sarif = async () => readSarif((await review(place, server, ["--format", "sarif"])).end.text).results;
  const [before] = await sarif();
  place.write("a.ts", "// new\n\nfirst\n// more\nsecond\nBUG 1\n");
  const [after] = await sarif();
  const lineOf = (result: typeof before) => result?.locations[0]?.physicalLocation.region.startLine;
  expect([lineOf(before), lineOf(after)]).toEqual([3, 6]);
  expect(after?.partialFingerprints).toEqual(before?.partialFingerprints ?? {});
});

test("a recorded review is replayed, its parts in any order", async () => {
  const { place } = makeDefects();
  await using _ = place;
  await using server = await startModelServer(findBugs);
  const small = ["--config", "model_defaults.context_window=12000"];
  const recorded = await review(place, server, [...small, "--record", "../review.tape"]);
  const asked = server.requests.length;
  const replayed = await review(place, server, [...small, "--replay", "../review.tape"]);
  expect(replayed.end.output).toEqual(recorded.end.output);
  expect([replayed.end.exit, server.requests.length]).toEqual([0, asked]);
});
