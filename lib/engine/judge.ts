import { unlessAborted } from "../async/unlessaborted.ts";
import { invokeAgentName } from "../tools/agentcalls.ts";
import { watchRewriting } from "../tools/rewritten.ts";
import { failed, resultText, type ToolResult } from "../tools/tool.ts";
import { denialText } from "../trust/gate.ts";
import { hookNote } from "./hooknote.ts";
import { type HookOccasion, hooksBeside, type HookVerdict } from "./hooks.ts";
import { nameOfTool, prepare, type Prepared } from "./prepare.ts";
import { skillRule } from "./skillrule.ts";
import type { Turn } from "./turn.ts";

/** A call as it would run, and the result in its place when it must not. */
type Judged = { call: Prepared; refusal?: ToolResult };

/**
 * The gate judges a call, then the user's hooks do. Arguments that a hook has rewritten are as new: they are decoded,
 * claimed and judged by the gate again, so that it has judged what will run.
 */
export async function judgeCall(turn: Turn, call: Prepared, signal: AbortSignal): Promise<Judged> {
  const refusal = await refusalOf(turn, call, signal);
  if (refusal !== undefined) return { call, refusal };
  const { denied, rewritten, context } = await askHooks(turn, call, signal);
  if (context !== undefined) turn.session.append(hookNote("tool.before", context));
  if (denied !== undefined)
    return { call, refusal: { ...failed(`Denied by the user's hook: ${denied.reason}`), denied: denied.rule } };
  if (rewritten === undefined) return { call };
  const text = JSON.stringify(rewritten.input);
  const tools = "tool" in call ? [call.tool] : [];
  const asked = { ...call.call, tool: nameOfTool(call), arguments: text };
  const changed = { ...(await prepare(asked, tools, turn.contextOf(call.call.id))), call: call.call };
  const again = await refusalOf(turn, changed, signal);
  return { call: changed, ...(again !== undefined && { refusal: again }) };
}

/** The hooks after a call that has run. They cannot undo it: a denial is told to the model, as their context is. */
export async function tellHooks(turn: Turn, call: Prepared, result: ToolResult, signal: AbortSignal): Promise<void> {
  if (turn.hooks?.has("tool.after", nameOfTool(call)) !== true) return;
  const { ok, exitCode } = result;
  const told = { ok, text: resultText(result), ...(exitCode !== undefined && { exit_code: exitCode }) };
  const facts = factsOf(call);
  const rewritten = await watchRewriting(facts.writes ?? [], { ...turn.contextOf(call.call.id), signal });
  const { denied, context } = await runHooksOn(turn, call, { on: "tool.after", ...facts, result: told }, signal);
  const changes = await rewritten();
  if (changes.length > 0)
    turn.session.append({
      kind: "note",
      text: ["The user's hook changed files after your call:", ...changes].join("\n"),
    });
  const said = [denied?.reason, context].filter((text) => text !== undefined);
  turn.session.append(...said.map((text) => hookNote("tool.after", text)));
}

/**
 * True for a call that a hook wants to see. Hooks may write, so it runs alone and under guard. The start of an agent
 * does not: that takes long, and others may start beside it.
 */
export function isHooked({ hooks }: Pick<Turn, "hooks">, call: Prepared): boolean {
  const tool = nameOfTool(call);
  if (hooks === undefined || tool === invokeAgentName) return false;
  return hooks.has("tool.before", tool) || hooks.has("tool.after", tool);
}

async function askHooks(turn: Turn, call: Prepared, signal: AbortSignal): Promise<HookVerdict> {
  if (turn.hooks?.has("tool.before", nameOfTool(call)) !== true) return {};
  return await runHooksOn(turn, call, { on: "tool.before", ...factsOf(call) }, signal);
}

/** The guard of a call holds for its hooks too; those on the starts of agents have their own, one after the other. */
async function runHooksOn(
  turn: Turn,
  call: Prepared,
  occasion: HookOccasion,
  signal: AbortSignal,
): Promise<HookVerdict> {
  if (turn.hooks !== undefined && isHooked(turn, call)) return await turn.hooks.run(occasion, turn, signal);
  using _ = await turn.locks.hold([hooksKey], signal);
  return await hooksBeside(turn, occasion, signal);
}

/** No path. */
const hooksKey = "hooks";

function factsOf(prepared: Prepared) {
  const { call, input, claim } = prepared;
  const writes = claim.writes === "unknown" ? undefined : claim.writes;
  return { tool: nameOfTool(prepared), call: call.id, input, writes };
}

/** The result of a call that must not run; undefined when it may. */
async function refusalOf(turn: Turn, call: Prepared, signal: AbortSignal): Promise<ToolResult | undefined> {
  if ("mistake" in call) return failed(call.mistake);
  const { tool, claim, input } = call;
  const { id } = call.call;
  for (const skill of turn.activeSkills()) {
    const narrowed = await skillRule(skill, { tool, input, home: turn.contextOf(id).policy.home });
    if (narrowed !== undefined) return deniedBy(narrowed);
  }
  const preview = tool.preview && (() => tool.preview?.(input as never, { ...turn.contextOf(id), signal }));
  const asked = turn.gate({ id, tool: tool.name, input, claim, ...(preview && { preview }) });
  // An abort denies a question that is open: the call is told and counted as denied then.
  const verdict = await unlessAborted(Promise.resolve(asked), signal, { graceMs: 0 });
  return verdict.allow ? undefined : deniedBy(verdict.rule, verdict.said);
}

function deniedBy(rule: string, said?: string): ToolResult {
  return { ...failed(denialText(rule, said)), denied: rule };
}
