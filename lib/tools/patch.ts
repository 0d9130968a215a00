/** A part of a patch that is about one file; `line` is its line in the patch. */
export type Section = { path: string; line: number } & (
  | { kind: "add"; lines: string[]; hasEnded: boolean }
  | { kind: "delete" }
  | { kind: "update"; moveTo?: string; hunks: Hunk[] }
);

/** Lines that stand together in a file, and what becomes of them. */
export type Hunk = {
  line: number;
  /** Lines of the file before it, from the `@@` lines: a class, a function. */
  headers: string[];
  lines: { mark: " " | "-" | "+"; text: string }[];
  /** Marked `*** End of File`. */
  isEnd: boolean;
};

type UpdateSection = Extract<Section, { kind: "update" }>;
type Malformed = { fault: string };
type Line = { number: number; text: string };

/** Reads a patch in the format that OpenAI's models are trained on, strictly; a fault is a sentence for the model. */
export function parsePatch(patch: string): readonly Section[] | Malformed {
  const body = bodyOf(patch);
  if ("fault" in body) return body;
  const sections: Section[] = [];
  for (const line of body) {
    const begun = sectionFrom(line);
    const fault = begun === undefined ? addTo(sections.at(-1), line) : undefined;
    if (fault !== undefined) return { fault };
    if (begun !== undefined) sections.push(begun);
  }
  if (sections.length === 0) return { fault: 'The patch has no files: expected a line like "*** Update File: PATH".' };
  const tidy = merged(sections.map(withoutEmptyParts));
  const fault = tidy.map(faultOf).find((found) => found !== undefined);
  return fault === undefined ? tidy : { fault };
}

const begin = "*** Begin Patch";
const end = "*** End Patch";

/** The lines between the markers. Around them may be a Markdown fence or a here-document, and nothing else. */
function bodyOf(patch: string): readonly Line[] | Malformed {
  const isCrlf = !/(^|[^\r])\n/.test(patch);
  const lines = (isCrlf ? patch.replaceAll("\r\n", "\n") : patch).split("\n");
  const first = lines.findIndex((line) => line.trim() === begin);
  if (first === -1) {
    const found = lines.find((line) => line.trim() !== "") ?? "";
    return { fault: `Expected a patch that begins with the line "${begin}", found "${shown(found)}".` };
  }
  const last = lines.findIndex((line, index) => index > first && line.trimEnd() === end);
  if (last === -1)
    return {
      fault: `The patch has no line "${end}": it may have been cut off. Send the whole patch, or smaller ones.`,
    };

  const word = lines
    .slice(0, first)
    .reduce<string | undefined>((known, line) => heredoc.exec(line)?.[2] ?? known, undefined);
  const isWrapper = (line: string) => /^\s*(```\w*)?\s*$/.test(line) || heredoc.test(line) || line.trim() === word;
  const stray = [...lines.slice(0, first), ...lines.slice(last + 1)].find((line) => !isWrapper(line));
  if (stray !== undefined)
    return { fault: `Send one patch and nothing else: "${shown(stray)}" stands before "${begin}" or after "${end}".` };
  return lines.slice(first + 1, last).map((text, index) => ({ number: first + 2 + index, text }));
}

const heredoc = /<<-?\s*(['"]?)(\w+)\1\s*$/;

const headings = [
  ["add", "*** Add File: "],
  ["delete", "*** Delete File: "],
  ["update", "*** Update File: "],
] as const;

function sectionFrom({ number: line, text }: Line): Section | undefined {
  const [kind, heading] = headings.find(([, heading]) => text.startsWith(heading)) ?? [];
  if (kind === undefined || heading === undefined) return undefined;
  const path = text.slice(heading.length).trim();
  switch (kind) {
    case "add":
      return { kind, path, line, lines: [], hasEnded: false };
    case "delete":
      return { kind, path, line };
    case "update":
      return { kind, path, line, hunks: [] };
    default:
      return kind satisfies never;
  }
}

/** Adds a line to the section that it stands in, or says why it cannot stand there. */
function addTo(section: Section | undefined, line: Line): string | undefined {
  const isBlank = line.text.trim() === "";
  if (section === undefined)
    return isBlank ? undefined : unexpected(line, `expected ${named(headings.map(([, heading]) => heading))}`);
  switch (section.kind) {
    case "add":
      if (isBlank || isEndOfFile(line.text)) section.hasEnded = true;
      else if (section.hasEnded || !line.text.startsWith("+"))
        return unexpected(line, 'every line of a new file begins with "+", an empty one too');
      else section.lines.push(line.text.slice(1));
      return undefined;
    case "delete":
      return isBlank ? undefined : unexpected(line, `nothing may follow "*** Delete File: ${section.path}"`);
    case "update":
      return addToUpdate(section, line);
    default:
      return section satisfies never;
  }
}

const moveTo = "*** Move to: ";

function addToUpdate(section: UpdateSection, line: Line): string | undefined {
  const { text, number } = line;
  const hunk = section.hunks.at(-1);
  if (text.startsWith(moveTo) && hunk === undefined && section.moveTo === undefined) {
    section.moveTo = text.slice(moveTo.length).trim();
    return undefined;
  }
  if (text.startsWith("@@")) {
    // Several headers in a row lead from the outer to the inner: a class, then its method.
    const current = hunk?.lines.length === 0 && !hunk.isEnd ? hunk : startHunk(section, number);
    const header = headerIn(text);
    if (header !== "") current.headers.push(header);
    return undefined;
  }
  if (isEndOfFile(text) && hunk !== undefined && !hunk.isEnd) {
    hunk.isEnd = true;
    return undefined;
  }
  const mark = text === "" ? " " : text[0];
  if (mark !== " " && mark !== "-" && mark !== "+")
    return unexpected(line, `in a hunk a line begins with " " (stays), "-" (goes) or "+" (is added)`);
  if (hunk?.isEnd === true) return text === "" ? undefined : unexpected(line, `expected "@@" after "*** End of File"`);
  if (hunk !== undefined || text !== "") (hunk ?? startHunk(section, number)).lines.push({ mark, text: text.slice(1) });
  return undefined;
}

function isEndOfFile(text: string): boolean {
  return text.trimEnd() === "*** End of File";
}

function startHunk({ hunks }: UpdateSection, line: number): Hunk {
  const hunk: Hunk = { line, headers: [], lines: [], isEnd: false };
  hunks.push(hunk);
  return hunk;
}

/** Without the line numbers of a unified diff: models guess them. */
function headerIn(text: string): string {
  const isNumbers = /^@@[-+\d,\s]*(@@.*)?$/.test(text);
  return isNumbers
    ? ""
    : text
        .slice(2)
        .replace(/@@\s*$/, "")
        .trim();
}

function faultOf(section: Section): string | undefined {
  const { kind, path, line } = section;
  if (path === "") return `Line ${line} of the patch names no file.`;
  if (kind !== "update") return undefined;
  if (section.moveTo === "") return `"*** Move to: " after line ${line} of the patch names no file.`;
  if (section.hunks.length === 0 && section.moveTo === undefined)
    return `The patch says nothing about what to change in "${path}" (line ${line} of the patch).`;
  return undefined;
}

/**
 * Leaves out hunks without lines. An empty line at the end of a hunk may be one of the file, or separate it from what
 * follows; neither needs it.
 */
function withoutEmptyParts(section: Section): Section {
  if (section.kind !== "update") return section;
  const hunks = section.hunks.map((hunk) => {
    const last = hunk.lines.findLastIndex(({ mark, text }) => mark !== " " || text !== "");
    return { ...hunk, lines: hunk.lines.slice(0, last + 1) };
  });
  return { ...section, hunks: hunks.filter(({ lines }) => lines.length > 0) };
}

/** Joins the updates of one file, unless it moves: all hunks are looked for in the file as it is. */
function merged(sections: readonly Section[]): Section[] {
  const first = new Map<string, UpdateSection>();
  return sections.flatMap((section) => {
    if (section.kind !== "update" || section.moveTo !== undefined) return [section];
    const known = first.get(section.path);
    known?.hunks.push(...section.hunks);
    if (known === undefined) first.set(section.path, section);
    return known === undefined ? [section] : [];
  });
}

function unexpected({ number, text }: Line, why: string): string {
  return `Line ${number} of the patch, "${shown(text)}", cannot stand there: ${why}.`;
}

function named(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(", ");
}

function shown(line: string): string {
  const text = line.trimEnd();
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
