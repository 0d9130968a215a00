import { counted } from "../../counted.ts";
import { toolConfigIn } from "../../sandbox/policy/toolconfig.ts";
import { type Naming, shownPath } from "../path.ts";

/** A command's doing to a repository, reported once, to people and to the model. */
export type RepositoryFinding = { path: string } & (
  | {
      /** A repository has appeared that does no harm. */
      kind: "new";
    }
  | {
      /** Settings by which other tools run something came with a new directory. */
      kind: "config";
      /** How many more came at the same time. */
      others: number;
    }
  | {
      /** Something that git or koda would have obeyed was moved out of the way. */
      kind: "quarantined";
      reason: string;
      movedTo: string;
    }
  | {
      /** Protected files that a command changed are as they were before. */
      kind: "restored";
      parts: readonly string[];
      /** Those that could not be restored, and the reason if it is known. */
      lost: readonly string[];
      error?: string;
    }
  | {
      /** It is still there: who uses it should look at it first. */
      kind: "failed";
      reason: string;
      /** As in "koda could not move it away". */
      problem: string;
      error?: string;
    }
);

export function levelOf({ kind, ...finding }: RepositoryFinding): "info" | "warn" | "error" {
  if (kind === "failed") return "error";
  if ("lost" in finding && finding.lost.length > 0) return "error";
  return kind === "new" || kind === "config" ? "info" : "warn";
}

type Told = Naming & { allowConfig?: boolean };

/** One line for people and the model. */
export function describeFinding(finding: RepositoryFinding, naming: Told): string {
  const path = `"${shortened(oneLine(shownPath(finding.path, naming)))}"`;
  switch (finding.kind) {
    case "new":
      return `A command made ${path}, a repository; nothing in it runs by itself.`;
    case "config":
      return `A command made ${andMore(path, finding.others)}: look there before you open it with other programs, which run what they find.`;
    case "quarantined":
      return `Quarantined ${path}, made by a command: ${reasonIn(finding)}. It is now in "${oneLine(finding.movedTo)}".`;
    case "restored":
      return `A command changed protected files in ${path}: ${outcomes(finding)}${because(finding)}.${whyConfig(finding, naming)}`;
    case "failed":
      return `Inspect ${path} before running git there: ${reasonIn(finding)}. koda ${finding.problem}${because(finding)}.`;
    default:
      return finding satisfies never;
  }
}

function andMore(path: string, others: number): string {
  if (others === 0) return `${path} in a new directory`;
  return `${path} and ${counted(others, "more entry", "more entries")} of the kind in new directories`;
}

function outcomes({ parts, lost }: { parts: readonly string[]; lost: readonly string[] }): string {
  return [list("restored ", parts), list("could not restore ", lost)].filter((text) => text !== "").join("; ");
}

function whyConfig({ path }: RepositoryFinding, naming: Told): string {
  if (naming.allowConfig === true || toolConfigIn(shownPath(path, naming)) === undefined) return "";
  return " Other programs run what it says (--allow-config allows changes).";
}

function because({ error }: { error?: string }): string {
  return error === undefined ? "" : ` (${oneLine(error)})`;
}

/** A command can make paths, and what it writes into a repository, of any length. */
function shortened(text: string, most = 200): string {
  return text.length <= most ? text : `${text.slice(0, most / 2)}…${text.slice(-most / 2)}`;
}

const reasonIn = ({ reason }: { reason: string }) => shortened(oneLine(reason), 400);

const mostNamed = 5;

function list(intro: string, parts: readonly string[]): string {
  if (parts.length === 0) return "";
  const named = parts.slice(0, mostNamed).map((part) => `"${oneLine(part)}"`);
  const rest = parts.length - named.length;
  return `${intro}${named.join(", ")}${rest > 0 ? ` and ${counted(rest, "more entry", "more entries")}` : ""}`;
}

/** Names are a command's choice, and could pretend to be another line or move a terminal's cursor. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?");
}
