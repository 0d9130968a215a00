import { cutBefore } from "../session/graphemes.ts";
import { type NumberedLine, linesOfOutput, splitLines } from "../session/lines.ts";
import { noEffect } from "../trust/claim.ts";
import about from "./recall.md" with { type: "text" };
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

type Input = { query?: string; turn?: number; output?: string; range?: string };

const input = inputOf({
  query: { type: "string" },
  turn: { type: "integer", minimum: 0 },
  output: { type: "string" },
  range: { type: "string", description: 'Lines, like "120-180"; default the first 200' },
});

export const recallTool = { name: "RecallContext", about, input, claim: () => noEffect, run } satisfies Tool<Input>;

type Context = Pick<ToolContext, "recall" | "outputs">;

async function run({ query, turn, output, range }: Input, context: Context): Promise<ToolResult> {
  if ([query, turn, output].filter((way) => way !== undefined).length !== 1)
    return failed("Give exactly one of query, turn and output.");
  if (query !== undefined) return range === undefined ? search(query, context) : failed("A query takes no range.");

  const wanted = rangeOf(range);
  if (wanted === undefined)
    return failed(`Bad range "${range}": expected line numbers from 1 up, like "120-180" or "120".`);
  if (turn !== undefined) return showTurn(turn, wanted, context);
  return showOutput(output ?? "", wanted, context);
}

function search(query: string, { recall }: Context): ToolResult {
  if (query.trim() === "") return failed("The query is empty: give words to look for.");
  const matches = recall.search(query);
  if (matches.length === 0) return succeeded(`Nothing in this conversation or its outputs matches "${query}".`);
  return succeeded(matches.map(({ where, snippet }) => `${where}: ${snippet}`).join("\n"));
}

function showTurn(turn: number, wanted: Range, { recall }: Context): ToolResult {
  const text = recall.turn(turn);
  if (text === undefined) return failed(`There is no turn ${turn} in this conversation; turns count from 1.`);
  const lines = splitLines(text).map((line, index) => ({ number: index + 1, text: line }));
  return show(`turn ${turn}`, lines, wanted);
}

function showOutput(id: string, wanted: Range, { outputs }: Context): ToolResult {
  const output = outputs.load(id);
  if (output === undefined)
    return failed(
      `There is no stored output "${id}": results name theirs (like o7), or look for its words with query.`,
    );
  const lines = linesOfOutput(output);
  if (lines.length === 0) return succeeded(`output ${id} is empty.`);
  const stderr = lines.find(({ stream }) => stream === "stderr");
  return show(`output ${id}${stderr === undefined ? "" : `, stderr from line ${stderr.number}`}`, lines, wanted);
}

type Range = { first: number; last: number };

const linesShown = 200;

/** `120-180`, or `120` for the lines from there on. */
function rangeOf(text: string | undefined): Range | undefined {
  if (text === undefined) return { first: 1, last: linesShown };
  const [, from, to] = /^\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?$/.exec(text) ?? [];
  if (from === undefined) return undefined;
  const first = Number(from);
  const last = to === undefined ? first + linesShown - 1 : Number(to);
  return first < 1 || last < first ? undefined : { first, last };
}

const bytesShown = 16_000;
const lineLength = 4_000;

/** As many of the wanted lines as a result may hold, and how to get the others. */
function show(what: string, lines: readonly NumberedLine[], { first, last }: Range): ToolResult {
  const total = lines.at(-1)?.number ?? 0;
  const wanted = lines.filter(({ number }) => number >= first && number <= last);
  if (wanted.length === 0) return failed(`${what} has ${total} lines; ${first}-${last} is not among them.`);

  const shown: NumberedLine[] = [];
  let bytes = 0;
  for (const line of wanted) {
    const text = shortLine(line.text);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > bytesShown && shown.length > 0) break;
    shown.push({ ...line, text });
  }
  const end = shown.at(-1)?.number ?? first;
  const rest = end < total ? `; continue with range "${end + 1}-${Math.min(end + linesShown, total)}"` : "";
  const heading = `${what}, lines ${shown[0]?.number ?? first}-${end} of ${total}${rest}`;
  return succeeded([`[${heading}]`, ...shown.map(({ text }) => text)].join("\n"));
}

function shortLine(text: string): string {
  if (text.length <= lineLength) return text;
  const cut = cutBefore(text, lineLength);
  return `${text.slice(0, cut)} [${text.length - cut} more characters in this line]`;
}
