import { counted } from "../counted.ts";
import { shortened } from "../session/graphemes.ts";
import { closest } from "./closest.ts";
import { mostCounted, type Mistake } from "./replace.ts";

/** A text that could not be changed, with the pieces that were looked for in it. */
type Subject = {
  text: string;
  pieces: readonly Piece[];
  /** How a piece can be told from its like. */
  advice: string;
};

/** An edit or a hunk: its name, the name of what was looked for, and that itself. */
type Piece = { name: string; sought: string; wanted: string };

/** Explains to a model how to get its edits right the next time: every mistake at once, with its lines. */
export function explainMistakes(mistakes: readonly Mistake[], subject: Subject): string {
  const explained = mistakes.slice(0, mostExplained).map((mistake) => explain(mistake, subject));
  const others = mistakes.length - explained.length;
  if (others > 0) explained.push(`${counted(others, "more mistake")} not shown.`);
  return explained.join("\n");
}

const mostExplained = 5;

function explain(mistake: Mistake, { text, pieces, advice }: Subject): string {
  const { name = "", sought = "", wanted = "" } = pieces[mistake.edit] ?? {};
  switch (mistake.kind) {
    case "empty":
      return `${sought} is empty: give the text to replace, or a line beside which to insert.`;
    case "same":
      return `${name}: old and new are the same.`;
    case "absent":
      return `${sought} was not found. ${nearTo(text, wanted)}`;
    case "ambiguous":
      return `${sought} occurs ${times(mistake.count)} (${lineList(mistake)}): ${advice}.`;
    case "overlap":
      return `${name} and ${pieces[mistake.other]?.name} overlap at line ${mistake.line}: combine them into one.`;
    case "unplaced":
      return `${name} only adds lines: give a line of context beside them, or end it with "*** End of File".`;
    case "header":
      return `${name}: "@@ ${mistake.header}" was not found above its lines. ${nearTo(text, mistake.header)}`;
    case "not at the end":
      return `${name} is marked "*** End of File", but its lines are not the last (line ${mistake.lines.join(", ")}).`;
    default:
      return mistake satisfies never;
  }
}

function times(count: number): string {
  return count >= mostCounted ? `${mostCounted} times or more` : `${count} times`;
}

function lineList({ lines, count }: { lines: readonly number[]; count: number }): string {
  return `lines ${lines.join(", ")}${count > lines.length ? ", …" : ""}`;
}

function nearTo(text: string, old: string): string {
  if (old.split("\n").every((line) => /^\s*(\d+\t|$)/.test(line)))
    return "Leave out the line numbers that Read puts before the lines.";
  const near = closest(text, old);
  if (near === undefined) return "Nothing in the file looks like it.";
  const lines = near.lines.map((line, index) => `${near.start + index}\t${line.replace(/\r$/, "")}`);
  const lead = near.differsInBlanksOnly ? "Only blanks differ from these lines" : "The closest lines are";
  return [`${lead}:`, ...lines.map((line) => shortened(line, mostCharacters))].join("\n");
}

const mostCharacters = 400;
