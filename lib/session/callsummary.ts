/** The fields that describe a call best, in the order of the summary. */
const summaryFields = [
  "command",
  "pattern",
  "query",
  "url",
  "path",
  "task",
  "output",
  "turn",
  "name",
  "agent",
  "id",
] as const;

/** A call's input in a few words: `npm test`, `TODO src/`. */
export function summaryOfInput(input: unknown): string {
  if (typeof input !== "object" || input === null) return String(input ?? "");
  const fields = new Map<string, unknown>(Object.entries(input));
  const patch = fields.get("patch");
  if (typeof patch === "string") return filesOf(patch);
  return summaryFields
    .map((field) => fields.get(field))
    .filter((value) => isShort(value))
    .join(" ");
}

/** The files of a patch: it is too long to be shown whole. */
function filesOf(patch: string): string {
  return [...patch.matchAll(/^\*\*\* (?:Add|Delete|Update) File: (.+)$/gm)].map(([, path]) => path).join(", ");
}

function isShort(value: unknown): boolean {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}
