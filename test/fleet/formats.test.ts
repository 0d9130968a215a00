import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { csvResults } from "../../lib/fleet/formats/csv.ts";
import { htmlResults } from "../../lib/fleet/formats/html.ts";
import { jsonlResults } from "../../lib/fleet/formats/jsonl.ts";
import { junitResults } from "../../lib/fleet/formats/junit.ts";
import { swebenchResults } from "../../lib/fleet/formats/swebench.ts";
import { writePatches } from "../../lib/fleet/results/write.ts";
import type { ResultWriter } from "../../lib/fleet/results/resultset.ts";
import { resultRowSchema } from "../../lib/fleet/results/row.ts";
import { taskStates } from "../../lib/fleet/store.ts";
import { makePlace } from "../support/place.ts";
import { resultRow, resultSet } from "../support/results.ts";

const hostile = `</script><script>alert(1)</script>"'>\u0000\u001b[31m]]>&\ud800=1`;
const patchText = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<b>old</b>\n+</pre><script>alert(2)</script>\n";

const rows = [
  ...taskStates.map((outcome, at) =>
    resultRow({ key: `k-${outcome}`, outcome, cost_usd: at / 4, duration_ms: 1_000 * at }),
  ),
  resultRow({
    key: "hostile",
    outcome: "failed",
    exit: 3,
    error: { code: "denied", message: hostile },
    repo: hostile,
    model: "openai/gpt-5",
    patch: true,
    end: { text: hostile },
  }),
];
const results = resultSet(rows, () => Buffer.from(patchText));

async function written(write: ResultWriter): Promise<string> {
  return (await Array.fromAsync(write(results))).join("");
}

test("jsonl: each line is a row that can be read again", async () => {
  const lines = (await written(jsonlResults)).trimEnd().split("\n");
  expect(lines.map((line) => resultRowSchema.parse(JSON.parse(line)))).toEqual(JSON.parse(JSON.stringify(rows)));
});

describe("junit", () => {
  test("the sums of a suite are those of its tests, and every task is one", async () => {
    const text = await written(junitResults);
    const number = (name: string) => Number(new RegExp(` ${name}="([\\d.]+)"`).exec(text)?.[1]);
    const count = (pattern: RegExp) => text.match(pattern)?.length;
    expect(number("tests")).toBe(rows.length);
    expect(count(/<testcase /g)).toBe(rows.length);
    expect(number("failures")).toBe(count(/<failure /g) ?? 0);
    expect(number("errors")).toBe(count(/<error /g) ?? 0);
    expect(number("skipped")).toBe(count(/<skipped /g) ?? 0);
    // Not even a task that nobody has settled passes.
    expect(count(/<testcase [^>]*><\/testcase>/g)).toBe(1);
  });

  test("a skipped task says which ones it waits for", async () => {
    const skipped = resultRow({ key: "c", outcome: "skipped", after: ["a", "b"] });
    const text = await Array.fromAsync(junitResults(resultSet([skipped], () => Buffer.from(""))));
    expect(text.join("")).toContain('<skipped message="skipped: it waits for a, b"/>');
  });

  test("hostile text is text", async () => {
    const text = await written(junitResults);
    expect(text).not.toContain("<script");
    expect(text).not.toMatch(/(?![\t\n\r])\p{Cc}|[\ud800-\udfff]/u);
    expect(text).toContain("&lt;/script&gt;&lt;script&gt;alert(1)");
  });

  const python = Bun.which("python3");
  test.skipIf(python === null)("a parser takes it", async () => {
    await using place = makePlace();
    const file = place.write("report.xml", await written(junitResults));
    const program =
      "import sys, xml.dom.minidom as x; print(len(x.parse(sys.argv[1]).getElementsByTagName('testcase')))";
    const { stdout, exitCode } = Bun.spawnSync([python ?? "", "-c", program, file]);
    expect([exitCode, stdout.toString().trim()]).toEqual([0, String(rows.length)]);
  });
});

describe("csv", () => {
  test("as many cells on each line, and no formula", async () => {
    const formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "＝1", '=HYPERLINK("http://x")'];
    const set = resultSet(
      formulas.map((ref, at) => resultRow({ key: `k${at}`, ref })),
      () => Buffer.from(""),
    );
    const lines = (await Array.fromAsync(csvResults(set))).join("").split("\r\n");
    const header = lines[0]?.split(",") ?? [];
    const at = header.indexOf("ref");
    for (const [index, formula] of formulas.entries()) expect(cellsOf(lines[index + 1] ?? "")[at]).toBe(`'${formula}`);
    for (const line of lines.slice(0, -1)) expect(cellsOf(line)).toHaveLength(header.length);
  });

  test("nothing controls a terminal", async () => {
    expect((await written(csvResults)).replaceAll("\r\n", "\n")).not.toMatch(/(?!\n)\p{Cc}/u);
  });

  test("quotes and line ends are quoted", async () => {
    const set = resultSet([resultRow({ key: "a", error: { code: "x", message: 'one "two"\nthree, four' } })], () =>
      Buffer.from(""),
    );
    expect((await Array.fromAsync(csvResults(set))).join("")).toContain('"one ""two""\nthree, four"');
  });
});

function cellsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, bare]) =>
    quoted === undefined ? (bare ?? "") : quoted.replaceAll('""', '"'),
  );
}

test("swebench: a prediction for each instance, an empty one where there is no patch", async () => {
  const predictions = (await written(swebenchResults))
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(predictions).toHaveLength(rows.length);
  expect(predictions.at(-1)).toEqual({
    instance_id: "hostile",
    model_name_or_path: "openai/gpt-5",
    model_patch: patchText,
  });
  expect(predictions[0]).toMatchObject({ model_name_or_path: "koda", model_patch: "" });
});

test("patches: one file for each task that has one, and a link in its place is replaced, not followed", async () => {
  await using place = makePlace();
  const outside = join(place.home, "outside");
  writeFileSync(outside, "mine");
  const directory = join(place.project, "patches");
  expect(await writePatches(directory, results)).toBe(1);
  Bun.spawnSync(["rm", join(directory, "hostile.patch")]);
  symlinkSync(outside, join(directory, "hostile.patch"));
  await writePatches(directory, results);
  expect(readdirSync(directory)).toEqual(["hostile.patch"]);
  expect(readFileSync(join(directory, "hostile.patch"), "utf8")).toBe(patchText);
  expect(readFileSync(outside, "utf8")).toBe("mine");
  expect(existsSync(join(directory, "k-done.patch"))).toBe(false);
});

test("patches: what a task has no longer is removed, and other files stay", async () => {
  await using place = makePlace({ "patches/k-done.patch": "old", "patches/other.patch": "mine" });
  const directory = join(place.project, "patches");
  await writePatches(directory, results);
  expect(readdirSync(directory).sort()).toEqual(["hostile.patch", "other.patch"]);
});

test("patches: nothing is removed behind a link that has taken the place of the directory", async () => {
  await using place = makePlace({ "others/k-done.patch": "mine" });
  const directory = join(place.project, "patches");
  symlinkSync(join(place.project, "others"), directory);
  await expect(writePatches(directory, results)).rejects.toThrow("patches");
  expect(readdirSync(join(place.project, "others"))).toEqual(["k-done.patch"]);
});

describe("html", () => {
  test("one script and one style, each allowed by its hash, and nothing else", async () => {
    const page = await written(htmlResults);
    const hash = (text: string) => `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;
    const [, rules = ""] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page) ?? [];
    const scripts = [...page.matchAll(/<script>([^]*?)<\/script>/g)].map(([, text = ""]) => text);
    const styles = [...page.matchAll(/<style>([^]*?)<\/style>/g)].map(([, text = ""]) => text);
    expect(scripts).toHaveLength(1);
    expect(styles).toHaveLength(1);
    expect(rules).toBe(
      `default-src 'none'; style-src ${hash(styles[0] ?? "")}; script-src ${hash(scripts[0] ?? "")}; ` +
        "base-uri 'none'; form-action 'none'",
    );
    expect(page).not.toMatch(/\s(?:on\w+|style|src|href)="/);
    expect(new Bun.Transpiler({ loader: "js" }).transformSync(scripts[0] ?? "")).toContain("apply()");
  });

  test("hostile text is text: in keys, errors, answers and patches", async () => {
    const page = await written(htmlResults);
    expect(page).not.toContain("<script>alert");
    expect(page).not.toContain("<b>");
    expect(page).toContain("&lt;script&gt;alert(2)");
    expect(page).not.toMatch(/(?![\t\n])\p{Cc}|[\ud800-\udfff]/u);
  });

  test("the sums are those of the tasks on the page", async () => {
    const page = await written(htmlResults);
    const tasks = [...page.matchAll(/<details class="task" data-outcome="(\w+)" data-cost="([\d.]+)"/g)];
    expect(tasks).toHaveLength(rows.length);
    expect(page).toContain(`<li>${rows.length} tasks</li>`);
    expect(page).toContain(`<li>$${tasks.reduce((sum, [, , cost]) => sum + Number(cost), 0).toFixed(4)}</li>`);
    for (const state of taskStates)
      expect(page).toContain(`checked> ${state} ${tasks.filter(([, outcome]) => outcome === state).length}</label>`);
  });
});

test("the end of a long patch is left out of the page, which says so", async () => {
  const long = `diff --git a/x b/x\n${"+line\n".repeat(50_000)}`;
  const set = resultSet([resultRow({ key: "a", patch: true })], () => Buffer.from(long));
  const page = (await Array.fromAsync(htmlResults(set))).join("");
  expect(page).toContain("100,019 more bytes are in the patch itself.");
  expect(page).toContain('<span class="added">+line</span>');
});

test("10,000 tasks are written piece by piece, and none of the pieces is large", async () => {
  const many = resultSet(
    Array.from({ length: 10_000 }, (_, at) =>
      resultRow({ key: `t${at}`, patch: true, end: { text: "x".repeat(1_000) } }),
    ),
    () => Buffer.from(patchText.repeat(10)),
  );
  for (const write of [jsonlResults, junitResults, csvResults, swebenchResults, htmlResults])
    for await (const piece of write(many)) if (piece.length > 100_000) throw new Error("a large piece");
});
