import { errnoOf, reasonOf } from "../errors.ts";
import { openFile } from "../files/held.ts";
import { shortened } from "../session/graphemes.ts";
import { maxWholeBytes, readWhole } from "./bytes.ts";
import { diffOf } from "./diff.ts";
import { byteText, decodedText, mostDiffLines, readForEdit, type TextFile } from "./textfile.ts";
import type { ToolContext } from "./tool.ts";

type Context = Pick<ToolContext, "policy" | "files" | "signal">;

const mostFiles = 20;
const mostCharacters = 400;

/**
 * Looks at files that the model has just written, before something else may rewrite them, such as a formatter. The
 * result tells how they differ then: a model that has seen that may go on editing without reading them again.
 */
export async function watchRewriting(paths: readonly string[], context: Context): Promise<() => Promise<string[]>> {
  const files: TextFile[] = [];
  for (const path of paths.slice(0, mostFiles)) {
    const file = await readForEdit(path, context);
    if ("before" in file) files.push(file);
  }
  return async () => {
    const reports = [];
    for (const file of files) reports.push(await reportOf(file, context));
    return reports.filter((report) => report !== undefined);
  };
}

async function reportOf({ place, before }: TextFile, { files }: Context): Promise<string | undefined> {
  const bytes = await readAgain(place.real);
  if (typeof bytes === "string") return `"${place.shown}" cannot be read any more: ${bytes}.`;
  const after = bytes && byteText(bytes);
  if (after === before) return undefined;
  const diff = after === undefined ? undefined : await diffOf(decodedText(before), decodedText(after));
  if (bytes === undefined || diff === undefined || diff.hunks.length > mostDiffLines)
    return `"${place.shown}" has changed: Read it again before you edit it.`;
  files.sawPart(place.real, bytes);
  const lines = diff.hunks.map((line) => shortened(line, mostCharacters));
  return [`"${place.shown}" has changed (+${diff.added} -${diff.removed}).`, ...lines].join("\n");
}

/** Its content, or the reason why there is none; undefined when it is too large now. */
async function readAgain(real: string): Promise<Uint8Array | string | undefined> {
  try {
    using file = openFile(real);
    return await readWhole(file, maxWholeBytes);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return reasonOf(error);
  }
}
