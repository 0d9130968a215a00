import { shortened } from "../session/graphemes.ts";
import { closest } from "./closest.ts";
import { mostCounted, type Edit, type Mistake } from "./replace.ts";

type Subject = { shown: string; text: string; edits: readonly Edit[] };

/** Explains to a model how to get its edits right the next time: every mistake at once, with its lines. */
export function explainMistakes(mistakes: readonly Mistake[], subject: Subject): string {
  const explained = mistakes.slice(0, mostExplained).map((mistake) => explain(mistake, subject));
  const others = mistakes.length - explained.length;
  if (others > 0) explained.push(`${others} more edits have mistakes.`);
  return [...explained, `"${subject.shown}" was not changed.`].join("\n");
}

const mostExplained = 5;

function explain(mistake: Mistake, { text, edits }: Subject): string {
  const which = `edits[${mistake.edit}]`;
  switch (mistake.kind) {
    case "empty":
      return `${which}.old is empty: give the text to replace, or a line beside which to insert.`;
    case "same":
      return `${which}: old and new are the same.`;
    case "absent":
      return `${which}.old was not found. ${nearTo(text, edits[mistake.edit]?.old ?? "")}`;
    case "ambiguous":
      return `${which}.old occurs ${times(mistake.count)} (${lineList(mistake)}): include more of the surrounding text, or set all.`;
    case "overlap":
      return `${which} and edits[${mistake.other}] overlap at line ${mistake.line}: combine them into one edit.`;
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
