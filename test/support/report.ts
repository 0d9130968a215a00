import { counted } from "../../lib/counted.ts";

export type Case = { name: string; file: string; outcome: "passed" | "failed" | "skipped" };

/** The tests in a JUnit report of `bun test`, each named with the groups that it is in. */
export function casesIn(report: string): Case[] {
  const elements = report.matchAll(/<testcase ([^>]*?)(?:\/>|>([^]*?)<\/testcase>)/g);
  return [...elements].map(([, attributes = "", content = ""]): Case => {
    const valueOf = (name: string) => decoded(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "");
    const name = [valueOf("classname"), valueOf("name")].filter((part) => part !== "").join(" > ");
    return { name, file: valueOf("file"), outcome: outcomeOf(content) };
  });
}

/** A line a folder: `test/cli: 210 passed, 1 failed, 2 skipped`. */
export function linesByFolder(cases: readonly Case[]): string[] {
  const folders = Map.groupBy(cases, ({ file }) => file.split("/").slice(0, -1).slice(0, 2).join("/"));
  return [...folders].sort().map(([folder, inside]) => `${folder}: ${totalsOf(inside)}`);
}

/** `210 passed, 1 failed`, and how many were skipped if any were. */
export function totalsOf(cases: readonly Case[]): string {
  const count = (outcome: Case["outcome"]) => cases.filter((test) => test.outcome === outcome).length;
  const skipped = count("skipped");
  return `${count("passed")} passed, ${count("failed")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** Why a test is skipped stands in its name, or in that of its group, which is then said once. */
export function linesOfSkipped(cases: readonly Case[]): string[] {
  const skipped = cases.filter(({ outcome }) => outcome === "skipped");
  const groups = Map.groupBy(skipped, ({ file, name }) => `${file}: ${name.split(" > ").slice(0, -1).join(" > ")}`);
  return [...groups].map(([group, [only, ...others]]) =>
    only !== undefined && others.length === 0
      ? `skipped: ${only.file}: ${only.name}`
      : `skipped: ${group} > ${counted(others.length + 1, "test")}`,
  );
}

function outcomeOf(content: string): Case["outcome"] {
  if (content.includes("<skipped")) return "skipped";
  return /<(failure|error)\b/.test(content) ? "failed" : "passed";
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function decoded(text: string): string {
  return text.replace(/&(?:#(\d+)|(\w+));/g, (whole, code?: string, name?: string) =>
    code === undefined ? (entities[name ?? ""] ?? whole) : String.fromCodePoint(Number(code)),
  );
}
