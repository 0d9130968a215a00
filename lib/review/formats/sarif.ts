import type { PlacedFinding } from "../findings.ts";
import type { Severity } from "../severity.ts";
import { fingerprintsOf } from "../fingerprint.ts";
import type { ReviewReport } from "../report.ts";
import { bodyOf, printable } from "./words.ts";

const levels = {
  info: "note",
  low: "note",
  medium: "warning",
  high: "error",
  critical: "error",
} as const satisfies Readonly<Record<Severity, string>>;

/** One rule for all: services tell findings apart by rule and fingerprint, and a severity may change. */
const rule = {
  id: "koda/review",
  name: "CodeReview",
  shortDescription: { text: "A finding of a code review by a model" },
  fullDescription: { text: "A defect that a model has found in a change. Check it before you act on it." },
  defaultConfiguration: { level: "warning" },
  properties: { tags: ["review"] },
} as const;

/** SARIF 2.1.0, for code scanning. */
export const sarifReport: ReviewReport = ({ findings }, { prefix, version }) => {
  const fingerprints = fingerprintsOf(findings);
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "koda", semanticVersion: version, rules: [rule] } },
        automationDetails: { id: "koda-review/" },
        columnKind: "utf16CodeUnits",
        results: findings.map((finding, at) => resultOf(finding, { prefix, fingerprint: fingerprints[at] ?? "" })),
      },
    ],
  };
  return JSON.stringify(log, undefined, 2);
};

type Identity = { prefix: string; fingerprint: string };

function resultOf(finding: PlacedFinding, { prefix, fingerprint }: Identity) {
  const { path, start_line: startLine, end_line: endLine, severity, title } = finding;
  return {
    ruleId: rule.id,
    ruleIndex: 0,
    level: levels[severity],
    message: { text: printable(`${title}\n\n${bodyOf(finding)}`) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uriOf(`${prefix}${path}`), uriBaseId: "%SRCROOT%" },
          region: { startLine, endLine },
        },
      },
    ],
    // The name under which GitHub looks for it.
    partialFingerprints: { primaryLocationLineHash: fingerprint },
    properties: { severity },
  };
}

function uriOf(path: string): string {
  return path.toWellFormed().split("/").map(encodeURIComponent).join("/");
}
