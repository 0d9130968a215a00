import { readJson } from "../config/json.ts";
import type { CallPart } from "../model/message.ts";
import { nearest } from "../nearest.ts";
import type { ClaimContext, Tool } from "../tools/tool.ts";
import { type Claim, noEffect } from "../trust/claim.ts";
import { describeProblems, problemsOf } from "./schema.ts";

/** A call with its tool, its decoded arguments and its claim; or the mistake in it. */
export type Prepared = { call: CallPart; input: unknown; claim: Claim } & ({ tool: Tool } | { mistake: string });

/** The name of the tool that runs: where one passes calls on, the one behind it. */
export function nameOfTool(call: Prepared): string {
  return "tool" in call ? call.tool.name : call.call.tool;
}

/** Decodes a call. The gate never sees arguments that do not match the tool's schema. */
export async function prepare(call: CallPart, tools: readonly Tool[], context: ClaimContext): Promise<Prepared> {
  const { value: input, problem } = decode(call.arguments);
  const mistaken = (mistake: string): Prepared => ({ call, input, claim: noEffect, mistake });

  const tool = tools.find(({ name }) => name === call.tool);
  if (tool === undefined) return mistaken(unknownTool(call.tool, tools));
  if (problem !== undefined) return mistaken(`The arguments of ${tool.name} are not valid JSON: ${problem}`);
  const { target, mistake } = await targetOf(tool, input);
  if (mistake !== undefined) return mistaken(mistake);

  // The schema check has just established the type that this tool declares.
  return { call, claim: await target.tool.claim(target.input as never, context), ...target };
}

type Target = { tool: Tool; input: unknown };

/** The tool that is really called, with its checked input: some tools only pass a call on. */
async function targetOf(
  tool: Tool,
  input: unknown,
): Promise<{ target: Target; mistake?: never } | { target?: never; mistake: string }> {
  const problems = await problemsOf(input, tool.input);
  if (problems.length > 0)
    return { mistake: `The arguments of ${tool.name} do not match its schema:\n${describeProblems(problems)}` };
  const target = tool.target?.(input as never);
  if (target === undefined) return { target: { tool, input } };
  return "mistake" in target ? target : targetOf(target.tool, target.input);
}

/** Several providers send an empty text for `{}`. */
function decode(text: string): { value: unknown; problem?: string } {
  const { value, problem } = readJson(text.trim() === "" ? "{}" : text);
  return problem === undefined ? { value } : { value: text, problem };
}

function unknownTool(name: string, tools: readonly Tool[]): string {
  const names = tools.map((tool) => tool.name);
  const meant = nearest(name, names) ?? twinOf(name, tools);
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  const list = names.length === 0 ? "There are no tools: answer without" : `The tools are: ${names.join(", ")}`;
  return `Unknown tool "${name}"${hint}. ${list}`;
}

/** Models know the editing tools of others: the one that is offered does the same. */
function twinOf(name: string, tools: readonly Tool[]): string | undefined {
  return tools.find(({ twin }) => twin !== undefined && nearest(name, [twin]) !== undefined)?.name;
}
