import { nearest } from "../nearest.ts";
import { parseFrontMatter } from "./frontmatter.ts";
import { type DefinitionFile, type DefinitionRequest, findDefinitions, readDefinition } from "./places.ts";

/** Prompts that are kept as files (`NAME.md`), by name. They are read when they are used. */
export type Prompts = { readonly byName: ReadonlyMap<string, DefinitionFile>; readonly notices: readonly string[] };

export const noPrompts: Prompts = { byName: new Map(), notices: [] };

/** Of prompts with the same name the first counts: the project's before the user's. */
export function findPrompts(request: DefinitionRequest): Prompts {
  const isPrompt = (entry: string) => /^[\w-]+\.md$/.test(entry);
  const { files, notices } = findDefinitions("prompts", (entry) => (isPrompt(entry) ? entry : undefined), request);
  const byName = new Map<string, DefinitionFile>();
  for (const file of files) {
    const name = file.entry.slice(0, -".md".length);
    if (!byName.has(name)) byName.set(name, file);
  }
  return { byName, notices };
}

/** A prompt as it was written, or what is the matter with `/NAME`. */
type Expanded = { text: string } | { problem: string } | { hint: string };

/**
 * The text that `/NAME rest` stands for; undefined for any other text. So is one that begins with a slash and names no
 * prompt: it may be a path.
 */
export function expandPrompt(words: string, { byName }: Prompts): Expanded | undefined {
  const [, name, rest = ""] = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(words) ?? [];
  if (name === undefined) return undefined;
  const file = byName.get(name);
  if (file === undefined) {
    const meant = nearest(name, [...byName.keys()]);
    if (meant === undefined) return undefined;
    return { hint: `No prompt is named "/${name}" (did you mean "/${meant}"?): it is sent as text` };
  }
  const read = loadPrompt(file);
  return "problem" in read ? read : { text: withArguments(read.text, rest.trim()) };
}

const largestPrompt = 256 * 1024;

/** Its text, without front matter. */
export function loadPrompt(file: DefinitionFile): { text: string } | { problem: string } {
  const fail = (problem: string) => ({ problem: `The prompt "${file.shown}" cannot be used: ${problem}` });
  const read = readDefinition(file, largestPrompt);
  if ("problem" in read) return fail(read.problem);
  if (read.isCut) return fail(`it is larger than ${largestPrompt / 1024} KiB`);
  const parsed = parseFrontMatter(read.text);
  if ("problem" in parsed) return fail(parsed.problem);
  const text = parsed.body.trim();
  return text === "" ? fail("there is no text in it") : { text };
}

/** Arguments stand at the end of a prompt that has no place for them. */
function withArguments(text: string, rest: string): string {
  if (text.includes("$ARGUMENTS")) return text.replaceAll("$ARGUMENTS", () => rest);
  return rest === "" ? text : `${text}\n\n${rest}`;
}
