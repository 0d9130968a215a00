import { isAnnouncement } from "./announcement.ts";
import { lacksItsChange } from "./changetask.ts";

/** A reply without calls, and the state of the turn that it would end. */
export type Ending = {
  text: string;
  /** Items of the to-do list that this turn has left open. */
  openTodos: readonly string[];
  /** The prompt, when it may ask for a change and no call could have made one. */
  unchangedTask: string | undefined;
};

/** Why a reply is not the end of its task: no reason for an answer. */
export type Completion = {
  reasons: readonly string[];
  /** Sent to the model, unless there is nothing that it could add. */
  reminder: { text: string; isPromise: boolean } | undefined;
};

/** Judges whether a reply is an answer. A finished answer must never be doubted, so what is unclear counts as one. */
export function judgeCompletion({ text, openTodos, unchangedTask }: Ending): Completion {
  const promise = promiseIn(text);
  const isPromise = promise !== undefined;
  const items = named(openTodos);
  const lacksChange = unchangedTask !== undefined && lacksItsChange(unchangedTask, text);
  const reasons = [
    ...(isPromise ? [promise] : []),
    ...(items === "" ? [] : [`to-do items are open: ${items}`]),
    ...(lacksChange ? ["the task asks for a change, and no call made one"] : []),
  ];
  // A question, or an answer that says that the work is not complete, has nothing to add.
  if (reasons.length === 0 || (!isPromise && (/[?？]$/.test(text.trimEnd()) || admission.test(text))))
    return { reasons, reminder: undefined };
  const list = items === "" ? "" : ` Your to-do list has open items: ${items}.`;
  return { reasons, reminder: { text: `${goOn}${list}`, isPromise } };
}

const mostNamed = 5;

function named(items: readonly string[]): string {
  const names = items.slice(0, mostNamed).map((item) => `"${shortened(item)}"`);
  return [...names, ...(items.length > mostNamed ? [`${items.length - mostNamed} more`] : [])].join(", ");
}

const goOn = "Go on with the task. If it is finished or cannot be finished, say so.";

function promiseIn(text: string): string | undefined {
  const line = lastLineOfProse(text);
  if (line === undefined) return undefined;
  if (/[:：]$/.test(line)) return isCode(line) ? undefined : `the answer ends in a colon: "${shortened(line)}"`;
  const sentence = lastSentence(line);
  if (/[?？]$/.test(sentence)) return undefined;
  if (/(?:…|\.{3})$/.test(sentence))
    return trailing.test(sentence) || admission.test(sentence)
      ? undefined
      : `the answer ends in an ellipsis: "${shortened(sentence)}"`;
  const isListItem = /^\s*(?:[-*+•]|\d+[.)、])\s/.test(line);
  return isListItem || !isAnnouncement(sentence)
    ? undefined
    : `the answer ends by announcing an action: "${shortened(sentence)}"`;
}

const longestLine = 1000;

/** Undefined when the text ends in code, a quotation or a table. */
function lastLineOfProse(text: string): string | undefined {
  const lines = text.trimEnd().split("\n");
  const line = lines.at(-1) ?? "";
  const fences = lines.filter((line) => /^\s*(?:```|~~~)/.test(line)).length;
  if (fences % 2 === 1 || /^(?: {4}|\t|\s*(?:```|~~~|[>|]))/.test(line)) return undefined;
  // The patterns are made for prose, and take long for a line of megabytes.
  return line.slice(-longestLine).replace(/[\p{Extended_Pictographic}\uFE0F*_\s]+$/u, "");
}

function lastSentence(line: string): string {
  const sentences = line.replace(/^[\s*_#]+/, "").split(/(?<=[.!?])\s+|(?<=[。！？])\s*/);
  return sentences.findLast((sentence) => sentence !== "") ?? "";
}

/** A key of YAML, or the head of a block of Python. */
function isCode(line: string): boolean {
  return /^\s*(?:[a-z][\w.$-]*|(?:def|class|if|elif|for|while|with|except|case|async)\b.*[\w)"'\]]):$/.test(line);
}

/** A series that goes on, or the last words of a report: `1, 2, 3, …`. */
const trailing = /(?:[,、，]|etc|usw|so on|so weiter|等|done|finished|fertig|erledigt)\s*(?:…|\.{3,})$/i;

const admission =
  /\b(?:sorry|can't|cannot|couldn't|could not|unable|won't|not (?:done|finished|possible)|leider|konnte|nicht)\b|抱歉|无法|没能|未能|申し訳|すみません|ません/i;

function shortened(text: string): string {
  const line = text.trim();
  return line.length <= 80 ? line : `…${line.slice(-79)}`;
}
