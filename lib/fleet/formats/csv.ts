import { visible } from "../../visible.ts";
import type { ResultWriter } from "../results/resultset.ts";
import type { ResultRow } from "../results/row.ts";

const columns: readonly (readonly [name: string, cell: (row: ResultRow) => string | number | undefined])[] = [
  ["key", ({ key }) => key],
  ["outcome", ({ outcome }) => outcome],
  ["exit", ({ exit }) => exit],
  ["error_code", ({ error }) => error?.code],
  ["error_message", ({ error }) => error?.message],
  ["attempts", ({ attempts }) => attempts.length],
  ["cost_usd", ({ cost_usd: cost }) => cost ?? undefined],
  ["tokens", ({ tokens }) => tokens],
  ["duration_ms", ({ duration_ms: duration }) => duration],
  ["model", ({ model }) => model],
  ["group", ({ group }) => group],
  ["repo", ({ repo }) => repo],
  ["ref", ({ ref }) => ref],
  ["branch", ({ branch }) => branch],
  ["commit", ({ commit }) => commit],
  ["session", ({ session }) => session],
];

/** A table by RFC 4180. */
export const csvResults: ResultWriter = async function* ({ rows }) {
  yield lineOf(columns.map(([name]) => name));
  for await (const row of rows()) yield lineOf(columns.map(([, cell]) => cell(row)));
};

function lineOf(cells: readonly (string | number | undefined)[]): string {
  return `${cells.map(cellOf).join(",")}\r\n`;
}

function cellOf(value: string | number | undefined): string {
  if (typeof value !== "string") return value === undefined ? "" : String(value);
  const text = asText(visible(value.toWellFormed()));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** An apostrophe makes a text of what a spreadsheet would take for a formula, which may fetch a URL. */
function asText(text: string): string {
  return /^\s*[=+\-@\t\r\n|%\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text;
}
