import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { applyPatchTool } from "../../lib/tools/applypatch.ts";
import { editTool } from "../../lib/tools/edit.ts";
import type { ToolResult } from "../../lib/tools/tool.ts";
import { makeFiles, textOf } from "../support/files.ts";
import { sharedData } from "../support/shareddata.ts";

type Written = {
  id: string;
  kind: "exact-1" | "differs";
  file: string;
  before: string;
  search: string;
  replace: string;
};

const data = sharedData("edits.jsonl.gz");
const written = data === undefined ? [] : readEdits(data);

const place = data === undefined ? " (../shared/data is not there)" : "";

/** Edits that real models wrote, in search and replace blocks of whole lines. */
describe.skipIf(data === undefined)(`edits of real models${place}`, () => {
  const exact = written.filter(({ kind }) => kind === "exact-1");
  const different = written.filter(({ kind }) => kind === "differs");

  test("are there", () => {
    expect(exact.length).toBeGreaterThan(100);
    expect(different.length).toBeGreaterThan(10);
  });

  test.each(exact.map((edit) => [edit.id, edit] as const))(
    "%s is made as it was meant, in each dialect",
    async (_, edit) => {
      const { before, search, replace } = edit;
      const wanted = before.split(search).join(replace);
      expect(before.split(search)).toHaveLength(2);
      for (const call of [asEdit, asPatch, asPatchWithContext]) {
        const { result, after } = await made(edit, call);
        expect(after === wanted).toBe(true);
        // Some of them change nothing.
        if (!result.ok) expect({ says: textOf(result), search }).toMatchObject({ search: replace });
      }
    },
  );

  test.each(exact.map((edit) => [edit.id, edit] as const))(
    "%s is made right or refused when less is shown of it",
    async (_, edit) => {
      const wanted = edit.before.split(edit.search).join(edit.replace);
      for (const call of [withLines(3), withLines(1), withLines(0), withBlanks]) {
        const { result, after } = await made(edit, call);
        expect({ says: textOf(result), isRight: after === (result.ok ? wanted : edit.before) }).toMatchObject({
          isRight: true,
        });
      }
    },
  );

  test.each(different.map((edit) => [edit.id, edit] as const))(
    "%s is refused with the lines that it may mean",
    async (_, edit) => {
      for (const call of [asEdit, asPatch]) {
        const { result, after } = await made(edit, call);
        expect({ ok: result.ok, isUnchanged: after === edit.before }).toEqual({ ok: false, isUnchanged: true });
        const names = /was not found\. (?:The closest lines are|Only blanks differ from these lines):\n\d+\t/;
        const known = edit.before.split("\n");
        const isLike = linesOf(edit.search).some((line) => line.trim() !== "" && known.includes(line));
        expect(textOf(result)).toMatch(isLike ? names : /was not found\. /);
      }
    },
  );
});

function readEdits(path: string): Written[] {
  const lines = gunzipSync(readFileSync(path)).toString("utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Written);
}

type Files = ReturnType<typeof makeFiles>;
type Call = (edit: Written, files: Files) => Promise<ToolResult>;

async function made(edit: Written, call: Call) {
  await using files = makeFiles({ [edit.file]: edit.before });
  const path = join(files.project, edit.file);
  files.context.files.saw(path, edit.before);
  const result = await call(edit, files);
  return { result, after: readFileSync(path, "utf8") };
}

async function asEdit({ file, search, replace }: Written, { context }: Files): Promise<ToolResult> {
  return await editTool.run({ path: file, edits: [{ old: search, new: replace }] }, context);
}

async function asPatch({ file, search, replace }: Written, { context }: Files): Promise<ToolResult> {
  const hunk = [...linesOf(search).map((line) => `-${line}`), ...linesOf(replace).map((line) => `+${line}`)];
  return await applyPatch(file, hunk, context);
}

/** The lines that both begin and end with are context. */
async function asPatchWithContext(edit: Written, { context }: Files): Promise<ToolResult> {
  const { head, gone, come, tail } = partsOf(edit);
  return await applyPatch(edit.file, hunkOf({ head, gone, come, tail }), context);
}

/** Only so many lines of context, as models are told to give. */
function withLines(most: number): Call {
  return async (edit, { context }) => {
    const { head, gone, come, tail } = partsOf(edit);
    const parts = { head: most === 0 ? [] : head.slice(-most), gone, come, tail: tail.slice(0, most) };
    return await applyPatch(edit.file, hunkOf(parts), context);
  };
}

/** With blanks at the end of the lines that stay or go. */
async function withBlanks(edit: Written, { context }: Files): Promise<ToolResult> {
  const { head, gone, come, tail } = partsOf(edit);
  const blank = (lines: string[]) => lines.map((line) => `${line}  `);
  return await applyPatch(
    edit.file,
    hunkOf({ head: blank(head), gone: blank(gone), come, tail: blank(tail) }),
    context,
  );
}

type Parts = Record<"head" | "gone" | "come" | "tail", string[]>;

function partsOf({ search, replace }: Written): Parts {
  const [old, now] = [linesOf(search), linesOf(replace)];
  let same = 0;
  while (same < Math.min(old.length, now.length) && old[same] === now[same]) same++;
  let sameAtEnd = 0;
  const most = Math.min(old.length, now.length) - same;
  while (sameAtEnd < most && old.at(-1 - sameAtEnd) === now.at(-1 - sameAtEnd)) sameAtEnd++;
  return {
    head: old.slice(0, same),
    gone: old.slice(same, old.length - sameAtEnd),
    come: now.slice(same, now.length - sameAtEnd),
    tail: old.slice(old.length - sameAtEnd),
  };
}

function hunkOf({ head, gone, come, tail }: Parts): string[] {
  const marked = (mark: string, lines: string[]) => lines.map((line) => `${mark}${line}`);
  return [...marked(" ", head), ...marked("-", gone), ...marked("+", come), ...marked(" ", tail)];
}

async function applyPatch(file: string, hunk: readonly string[], context: Files["context"]): Promise<ToolResult> {
  const patch = ["*** Begin Patch", `*** Update File: ${file}`, "@@", ...hunk, "*** End Patch"].join("\n");
  return await applyPatchTool.run({ patch }, context);
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}
