import { isAbsolute, join } from "node:path";
import type { ToolCall, ToolCallContent, ToolKind } from "@agentclientprotocol/sdk";
import { summaryOfInput } from "../session/callsummary.ts";
import { parsePatch, type Section } from "../tools/patch.ts";
import { visibleLine } from "../visible.ts";

export type CallDetails = Required<Pick<ToolCall, "title" | "kind" | "locations" | "content" | "rawInput">>;

/** A question about a host, which clients show as a call. */
export const connectTool = "Connect to";

/** Tools that are not here are `other`: those of MCP servers above all. */
const kinds: Readonly<Record<string, ToolKind>> = {
  Read: "read",
  Write: "edit",
  Edit: "edit",
  ApplyPatch: "edit",
  Delete: "delete",
  List: "search",
  Glob: "search",
  Grep: "search",
  RecallContext: "search",
  Bash: "execute",
  Verify: "execute",
  WebFetch: "fetch",
  [connectTool]: "fetch",
  TodoWrite: "think",
  InvokeAgent: "think",
};

/** A call as a client shows it: what it is, the files that it is about, and the changes that it makes. */
export function detailsOf({ tool, input }: { tool: string; input: unknown }, cwd: string): CallDetails {
  const fields = new Map(typeof input === "object" && input !== null ? Object.entries(input) : []);
  const files = filesOf(fields, tool);
  const absolute = (path: string) => (isAbsolute(path) ? path : join(cwd, path));
  return {
    title: visibleLine(`${tool} ${summaryOfInput(input)}`.trim()),
    kind: kinds[tool] ?? "other",
    locations: files.map(({ path, line }) => ({ path: absolute(path), ...(line !== undefined && { line }) })),
    content: files.flatMap(({ path, changes = [] }) =>
      changes.map(([oldText, newText]): ToolCallContent => ({ type: "diff", path: absolute(path), oldText, newText })),
    ),
    rawInput: input,
  };
}

/** `null` is the text of a file that is new, or whose text before is not known. */
type Change = readonly [before: string | null, after: string];
type TouchedFile = { path: string; line?: number; changes?: readonly Change[] };

/** The files in the arguments of a call. A model wrote them, so their types are not sure. */
function filesOf(fields: ReadonlyMap<string, unknown>, tool: string): TouchedFile[] {
  const [path, startLine, edits, content, patch] = ["path", "start_line", "edits", "content", "patch"].map((name) =>
    fields.get(name),
  );
  if (tool === "ApplyPatch") return typeof patch === "string" ? filesOfPatch(patch) : [];
  // The home directory is not known here.
  if (typeof path !== "string" || path.startsWith("~")) return [];
  if (tool === "Read") return [{ path, ...(typeof startLine === "number" && { line: startLine }) }];
  if (tool === "Write") return [{ path, changes: typeof content === "string" ? [[null, content]] : [] }];
  if (tool === "Edit") return [{ path, changes: Array.isArray(edits) ? edits.flatMap(changeOfEdit) : [] }];
  return tool === "Delete" ? [{ path }] : [];
}

function changeOfEdit(edit: unknown): Change[] {
  const { old, new: after } = (edit ?? {}) as { old?: unknown; new?: unknown };
  return typeof old === "string" && typeof after === "string" ? [[old, after]] : [];
}

function filesOfPatch(patch: string): TouchedFile[] {
  const sections = parsePatch(patch);
  if ("fault" in sections) return [];
  return sections.map((section) => ({ path: section.path, changes: changesOfSection(section) }));
}

function changesOfSection(section: Section): Change[] {
  if (section.kind === "delete") return [];
  if (section.kind === "add") return [[null, section.lines.map((line) => `${line}\n`).join("")]];
  return section.hunks.map(({ lines }) => {
    const textWithout = (sign: "-" | "+") =>
      lines.flatMap(({ mark, text }) => (mark === sign ? [] : [text])).join("\n");
    return [textWithout("+"), textWithout("-")];
  });
}
