import { describe, expect, test } from "bun:test";
import type { PlacedFinding } from "../../lib/review/findings.ts";
import { fingerprintsOf } from "../../lib/review/fingerprint.ts";
import { reportFormats } from "../../lib/review/formats.ts";
import { reports } from "../../lib/review/report.ts";
import { severities } from "../../lib/review/severity.ts";
import { faultsOf, hasSchema } from "../support/publishedschemas.ts";
import { finding } from "../support/review.ts";
import { readSarif } from "../support/sarif.ts";

const options = { prefix: "", version: "0.1.0", columns: 80 };
const placed = (path: string, more: Partial<PlacedFinding> = {}): PlacedFinding => ({
  ...finding(path),
  text: "code();",
  ...more,
});
const reviewOf = (...findings: readonly PlacedFinding[]) => ({ findings, summary: "A summary." });

/** One finding for each severity, from the least. */
const each = reviewOf(...severities.map((severity, at) => placed("a.ts", { severity, text: `line${at}` })));

test("each service has its own words for a severity", () => {
  expect(readSarif(reports.sarif(each, options)).results.map(({ level }) => level)).toEqual([
    "note",
    "note",
    "warning",
    "error",
    "error",
  ]);
  expect(reports.github(each, options).match(/^::\w+/gm)).toEqual([
    "::notice",
    "::notice",
    "::warning",
    "::error",
    "::error",
  ]);
  const issues: { severity: string }[] = JSON.parse(reports.gitlab(each, options));
  expect(issues.map(({ severity }) => severity)).toEqual(["info", "minor", "major", "critical", "blocker"]);
});

test.skipIf(!hasSchema("sarif-2.1.0"))("sarif is what the standard's schema allows", () => {
  for (const review of [each, reviewOf(), reviewOf(...hostile.map((path) => placed(path)))])
    expect(faultsOf(JSON.parse(reports.sarif(review, options)), "sarif-2.1.0")).toEqual([]);
  expect(faultsOf({ version: "2.1.0", runs: [{}] }, "sarif-2.1.0")).not.toEqual([]);
});

/** What a stranger may call a file, or make a model say. */
const hostile = [
  "a\"b<c>&'d]]>.ts",
  "::error file=x,line=1::y%0A.ts",
  "line\n::warning::two\r\nthree.ts",
  "tab\there, 100%: \\ [x](https://example.com).ts",
  "escape\u001b[2J\u0000\u0007\u009b1m.ts",
  "half\ud800 \ufffe\uffff \u202egnp.ts",
  "größe/日本 語.ts",
] as const;

describe("hostile text does no harm in", () => {
  const review = reviewOf(
    ...hostile.map((text, at) => placed(text, { title: text, body: text, suggestion: text, text: `${at}` })),
  );

  test("sarif", () => {
    const { results } = readSarif(reports.sarif(review, options));
    expect(results).toHaveLength(hostile.length);
    const uris = results.map(({ locations: [first] }) => first?.physicalLocation.artifactLocation.uri ?? "");
    expect(uris.map(decodeURIComponent)).toEqual(hostile.map((path) => path.toWellFormed()));
  });

  test("github", () => {
    const lines = reports.github(review, options).split("\n");
    expect(lines).toHaveLength(hostile.length);
    for (const [at, line] of lines.entries()) {
      const [, properties = "", body = ""] = /^::warning (.*?)::(.*)$/.exec(line) ?? [];
      const unescape = (text: string) => text.replace(/%(3A|2C|0A|0D|25)/g, (code) => decodeURIComponent(code));
      const read = Object.fromEntries(properties.split(",").map((pair) => pair.split("=", 2).map(unescape)));
      const shown = (hostile[at] ?? "").toWellFormed().replace(/(?![\t\n\r])\p{Cc}/gu, "");
      expect(Object.keys(read)).toEqual(["file", "line", "endLine", "title"]);
      expect(unescape(properties)).toBe(`file=${shown},line=1,endLine=1,title=medium: ${shown}`);
      expect(unescape(body)).toContain(`Suggestion:\n${shown}`);
      expect(line).not.toMatch(/(?!\t)\p{Cc}/u);
    }
  });

  test("junit", () => {
    const xml = reports.junit(review, options);
    // XML 1.0, section 2.2.
    expect(xml).toMatch(/^[\t\n\r\u0020-\ud7ff\ue000-\ufffd]*$/);
    const tags = [...xml.matchAll(/<(\/?[a-z?]+)(?: [\w]+="[^"<>]*")*\??>/g)].map(([, name]) => name);
    expect(tags.filter((name) => name === "testcase" || name === "failure")).toHaveLength(2 * hostile.length);
    expect(xml.replace(/<\/?[a-z?]+(?: [\w]+="[^"<>]*")*\??>/g, "")).not.toMatch(
      /[<>"']|&(?!(?:amp|lt|gt|quot|apos|#\d+);)/,
    );
  });

  test("gitlab and json", () => {
    const issues: { location: { path: string } }[] = JSON.parse(reports.gitlab(review, options));
    expect(issues.map(({ location }) => location.path)).toEqual([...hostile]);
    expect(JSON.parse(reports.json(review, options)).findings).toHaveLength(hostile.length);
  });

  test("text", () => {
    const text = reports.text(review, options);
    expect(text).not.toMatch(/(?![\n\t])[\p{Cc}\u202e]/u);
    expect(text.match(/^medium: /gm)).toHaveLength(hostile.length);
    expect(text).not.toMatch(/^::/m);
  });
});

test("text for people fits 40 columns, and leaves code as it is", () => {
  const code = "if (a) {\n    return veryLongNameOfAFunction(withArguments, andMore);\n}";
  const words = "A sentence of many words that goes on and on, beyond the end of the line.";
  const text = reports.text(reviewOf(placed("src/a.ts", { title: words, body: words, suggestion: code })), {
    ...options,
    columns: 40,
  });
  expect(text).toContain(code.replaceAll(/^/gm, "    "));
  const others = text.split("\n").filter((line) => !line.includes("veryLongName"));
  expect(Math.max(...others.map((line) => line.length))).toBeLessThanOrEqual(40);
});

test("paths are those in the repository for services, and those in the project for people and scripts", () => {
  const review = reviewOf(placed("a b.ts"));
  const written = Object.fromEntries(
    reportFormats.map((format) => [format, reports[format](review, { ...options, prefix: "pkg/" })]),
  );
  for (const format of ["github", "gitlab"]) expect(written[format]).toContain("pkg/a b.ts");
  expect(written.sarif).toContain('"pkg/a%20b.ts"');
  for (const format of ["text", "json", "junit"]) expect(written[format]).not.toContain("pkg/");
});

describe("a fingerprint", () => {
  const [print] = fingerprintsOf([placed("a.ts", { start_line: 10 })]);
  const same: readonly [name: string, more: Partial<PlacedFinding>][] = [
    ["when lines above have moved", { start_line: 90, end_line: 95 }],
    ["in other words of the model", { start_line: 10, title: "Other words", body: "", severity: "low" }],
    ["when the line is set in deeper", { start_line: 10, text: "\t  code();" }],
  ];
  for (const [name, more] of same)
    test(`stays ${name}`, () => expect(fingerprintsOf([placed("a.ts", more)])).toEqual([print ?? ""]));

  test("is another for another file, another line and the next line that is alike", () => {
    const others = [
      placed("a.ts", { start_line: 10 }),
      placed("b.ts", { start_line: 10 }),
      placed("a.ts", { start_line: 10, text: "other();" }),
      placed("a.ts", { start_line: 20 }),
    ];
    const prints = fingerprintsOf(others);
    expect(new Set(prints).size).toBe(4);
    // Whatever their order, the first in the file keeps its own.
    expect(fingerprintsOf(others.toReversed())).toEqual(prints.toReversed());
    expect(prints[0]).toBe(print ?? "");
  });
});
