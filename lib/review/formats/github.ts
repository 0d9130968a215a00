import type { Finding } from "../findings.ts";
import type { Severity } from "../severity.ts";
import type { ReviewReport } from "../report.ts";
import { bodyOf, printable } from "./words.ts";

const commands = {
  info: "notice",
  low: "notice",
  medium: "warning",
  high: "error",
  critical: "error",
} as const satisfies Readonly<Record<Severity, string>>;

/** Workflow commands, which GitHub Actions shows beside the lines. */
export const githubReport: ReviewReport = ({ findings }, { prefix }) =>
  findings.map((finding) => commandOf(finding, prefix)).join("\n");

function commandOf(finding: Finding, prefix: string): string {
  const { path, start_line: line, end_line: endLine, severity, title } = finding;
  const properties = { file: `${prefix}${path}`, line, endLine, title: `${severity}: ${title}` };
  const written = Object.entries(properties).map(([name, value]) => `${name}=${escapedProperty(String(value))}`);
  return `::${commands[severity]} ${written.join(",")}::${escapedText(bodyOf(finding))}`;
}

/** Anything else would begin another property, or another command. */
function escapedProperty(text: string): string {
  return escapedText(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

function escapedText(text: string): string {
  return printable(text).replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
