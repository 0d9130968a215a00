import type { Finding } from "../findings.ts";
import type { ReviewReport } from "../report.ts";
import { bodyOf, printable } from "./words.ts";

/** One suite, in which each finding is a test that has failed. */
export const junitReport: ReviewReport = ({ findings }) => {
  const counts = `tests="${findings.length}" failures="${findings.length}" errors="0"`;
  const suite = [`<testsuite name="koda review" ${counts}>`, ...findings.map(caseOf), "</testsuite>"];
  return ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites ${counts}>`, ...suite, "</testsuites>"].join("\n");
};

function caseOf(finding: Finding): string {
  const { path, start_line: line, severity, title } = finding;
  const where = `name="${escaped(title)}" classname="${escaped(path)}" file="${escaped(path)}" line="${line}"`;
  const message = `message="${escaped(`${path}:${line} ${title}`)}" type="${severity}"`;
  return `  <testcase ${where}><failure ${message}>${escaped(bodyOf(finding))}</failure></testcase>`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
  "\t": "&#9;",
  "\r": "&#13;",
  "\n": "&#10;",
};

/** Also the signs that no XML document may have, escaped or not. */
function escaped(text: string): string {
  return printable(text)
    .replace(/[\ufffe\uffff]/g, "")
    .replace(/[&<>"'\t\r\n]/g, (sign) => entities[sign] ?? sign);
}
