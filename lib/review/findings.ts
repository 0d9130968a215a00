import { KodaError } from "../errors.ts";
import { isRecord, stringIn, arrayIn } from "../config/json.ts";
import type { JsonSchema } from "../model/model.ts";
import { rankOf, severities, type Severity } from "./severity.ts";

/** One defect, with its path in the project. Lines count from 1, and both ends belong to it. */
export type Finding = {
  path: string;
  start_line: number;
  end_line: number;
  severity: Severity;
  title: string;
  body: string;
  suggestion?: string;
};

export type Findings = { findings: readonly Finding[]; summary: string };

const line = { type: "integer", minimum: 1 } as const;
const words = { type: "string", minLength: 1 } as const;

/** The form of a reviewer's answer. */
export const findingsSchema: JsonSchema = {
  type: "object",
  properties: {
    findings: {
      type: "array",
      items: {
        type: "object",
        properties: {
          path: words,
          start_line: line,
          end_line: line,
          severity: { enum: [...severities] },
          title: words,
          body: { type: "string" },
          suggestion: { type: "string" },
        },
        required: ["path", "start_line", "end_line", "severity", "title", "body"],
        additionalProperties: false,
      },
    },
    summary: { type: "string" },
  },
  required: ["findings", "summary"],
  additionalProperties: false,
};

/** An answer that matches the schema. */
export function readFindings(output: unknown): Findings {
  if (!isRecord(output)) throw new Error("a reviewer's answer that matches its schema is an object");
  return { findings: arrayIn(output, "findings") as readonly Finding[], summary: stringIn(output, "summary") ?? "" };
}

/** A finding that lies within its file, with the text of its first line. */
export type PlacedFinding = Finding & { text: string };

/** The findings of a review, worst first. */
export type Review = { findings: readonly PlacedFinding[]; summary: string };

/** The answers of all reviewers as one: worst first, and no defect twice. */
export function mergeReviews(answers: readonly Review[]): Review {
  const sorted = answers.flatMap(({ findings }) => findings).sort(compareFindings);
  const alike = new Map<string, PlacedFinding[]>();
  // Two reviewers write of one defect at one place, under one title.
  const findings = sorted.filter((finding) => {
    const others = alike.getOrInsertComputed(`${finding.path}\n${plain(finding.title)}`, () => []);
    const isNew = !others.some((other) => overlap(finding, other));
    if (isNew) others.push(finding);
    return isNew;
  });
  const summaries = answers.map(({ summary }) => summary.trim()).filter((summary) => summary !== "");
  return { findings, summary: [...new Set(summaries)].join("\n") };
}

/** The review as the contract has it. */
export function findingsOf({ findings, summary }: Review): Findings {
  const shown = findings.map((placed): Finding => {
    const { text: _, ...finding } = placed;
    return finding;
  });
  return { findings: shown, summary };
}

function compareFindings(a: Finding, b: Finding): number {
  const byPath = a.path < b.path ? -1 : Number(a.path > b.path);
  return rankOf(b.severity) - rankOf(a.severity) || byPath || a.start_line - b.start_line || a.end_line - b.end_line;
}

function overlap(one: Finding, other: Finding): boolean {
  return one.start_line <= other.end_line && other.start_line <= one.end_line;
}

function plain(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** Why a review fails by --fail-on-severity; undefined when no finding is that severe. */
export function severeFailure({ findings }: Findings, least: Severity): KodaError | undefined {
  const severe = findings.filter(({ severity }) => rankOf(severity) >= rankOf(least));
  if (severe.length === 0) return undefined;
  const found = severe.length === 1 ? "1 finding is" : `${severe.length} findings are`;
  return new KodaError("severity", `${found} at least "${least}", and --fail-on-severity ${least} is set`);
}
