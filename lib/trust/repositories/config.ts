/** One setting of a git configuration; section and variable are in small letters, as git compares them. */
export type GitSetting = {
  section: string;
  subsection: string;
  variable: string;
  /** True for a variable without `=`, which git takes for a yes. */
  value: string | true;
};

/**
 * Reads git's configuration syntax as git itself does, and gives up (undefined) where git would, or where what git
 * would make of it is not certain. git is never asked: it would run in a directory that a command could have written.
 */
export function parseConfig(text: string): readonly GitSetting[] | undefined {
  // Whatever follows a NUL byte git may see or not.
  if (text.includes("\0")) return undefined;
  const reader: Reader = { text: text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n"), at: 0 };
  const settings: GitSetting[] = [];
  let header: string | undefined;
  for (skipBlank(reader); reader.at < reader.text.length; skipBlank(reader)) {
    if (reader.text[reader.at] === "[") {
      header = readHeader(reader);
      if (header === undefined) return undefined;
      continue;
    }
    const name = take(reader, /[a-z][a-z0-9-]*/iy);
    const value = name === undefined ? undefined : readValue(reader);
    if (header === undefined || name === undefined || value === undefined) return undefined;
    settings.push(settingOf(`${header}.${name}`, value));
  }
  return settings;
}

type Reader = { text: string; at: number };

/** Matches a pattern with the flag `y` here and moves past it. Gives its first group, or all of it without one. */
function take(reader: Reader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.at;
  const match = pattern.exec(reader.text);
  if (match === null) return undefined;
  reader.at = pattern.lastIndex;
  return match[1] ?? match[0];
}

function skipBlank(reader: Reader): void {
  take(reader, /(?:[ \t\r\n]|[#;][^\n]*)*/y);
}

/** `[section]`, `[section.subsection]` or `[section "Subsection"]`, as the first part of the variables' names. */
function readHeader(reader: Reader): string | undefined {
  const section = take(reader, /\[([a-z0-9.-]*)/iy)?.toLowerCase();
  if (section === undefined || section === "") return undefined;
  if (take(reader, /\]/y) !== undefined) return section;
  const quoted = take(reader, /[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)"\]/y);
  return quoted === undefined ? undefined : `${section}.${quoted.replace(/\\([^])/g, "$1")}`;
}

/** From the end of the name to the end of the line. */
function readValue(reader: Reader): string | true | undefined {
  take(reader, /[ \t]*/y);
  if (reader.at >= reader.text.length || take(reader, /\n/y) !== undefined) return true;
  if (take(reader, /=[ \t\r]*/y) === undefined) return undefined;

  let value = "";
  // Blanks at the end are no part of the value, but those in quotes are.
  let length = 0;
  let isQuoted = false;
  for (;;) {
    const part = take(reader, /\\[^]|[^]/y) ?? "\n";
    if (part === "\n") return isQuoted ? undefined : value.slice(0, length);
    if (!isQuoted && /^[#;]/.test(part)) {
      // To the end of the line at once: a backslash in a comment does not continue it.
      take(reader, /[^\n]*/y);
      continue;
    }
    if (part === '"') isQuoted = !isQuoted;
    const meant = part === '"' ? "" : meaningOf(part);
    if (meant === undefined) return undefined;
    value += meant;
    if (isQuoted || !/^[ \t\r]$/.test(part)) length = value.length;
  }
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b", "\\": "\\", '"': '"', "\n": "" };

function meaningOf(part: string): string | undefined {
  return part.startsWith("\\") ? escapes[part.slice(1)] : part;
}

/** The section ends at the first dot and the variable begins after the last, however the header was written. */
function settingOf(name: string, value: string | true): GitSetting {
  const [first, last] = [name.indexOf("."), name.lastIndexOf(".")];
  return {
    section: name.slice(0, first).toLowerCase(),
    subsection: name.slice(first + 1, last),
    variable: name.slice(last + 1).toLowerCase(),
    value,
  };
}
