import type { CallPart } from "../model/message.ts";
import { summaryOfInput } from "./callsummary.ts";
import { argumentsOf } from "./document.ts";
import { shortened } from "./graphemes.ts";
import { escaped, htmlBlocks } from "./htmltext.ts";
import type { ItemOf } from "./item.ts";

/** A longer result is folded. */
const mostOpenLines = 12;
const mostOfSummary = 160;

/** A call under its command or path, with its whole input and its result. */
export function htmlOfCall({ tool, arguments: json }: CallPart, result: ItemOf<"result"> | undefined): string {
  const input = argumentsOf(json);
  const summary = `<b>${escaped(tool)}</b> <code>${escaped(oneLine(summaryOfInput(input)))}</code>`;
  const fields = typeof input === "object" && input !== null ? Object.entries(input) : [["arguments", json]];
  const shown = fields.map(([name, value]) => fieldOf(String(name), value)).join("");
  return `<details class="call"><summary>${summary} ${statusOf(result)}</summary>${shown}</details>${resultOf(result)}`;
}

/** A result whose call is not in the log. */
export function htmlOfResult(result: ItemOf<"result">): string {
  return `<p class="call"><b>${escaped(result.tool)}</b> ${statusOf(result)}</p>${resultOf(result)}`;
}

function oneLine(text: string): string {
  return shortened(text.trim().replaceAll(/\s*\n\s*/g, " ⏎ "), mostOfSummary);
}

function fieldOf(name: string, value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  return `<div class="field">${escaped(name)}</div><pre>${escaped(text)}</pre>`;
}

function statusOf(result: ItemOf<"result"> | undefined): string {
  if (result === undefined) return `<span class="bad">no result</span>`;
  const { ok, denied, exitCode } = result;
  if (denied !== undefined) return `<span class="bad">denied: ${escaped(denied)}</span>`;
  if (ok) return `<span class="good">✓</span>`;
  return `<span class="bad">${exitCode === undefined ? "failed" : `exit ${exitCode}`}</span>`;
}

function resultOf(result: ItemOf<"result"> | undefined): string {
  const content = result === undefined ? "" : htmlBlocks(result.parts);
  if (content === "") return "";
  const lines = content.split("\n").length;
  if (lines <= mostOpenLines) return `<div class="result">${content}</div>`;
  return `<details class="result"><summary>${lines} lines</summary>${content}</details>`;
}
