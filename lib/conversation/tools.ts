import { KodaError } from "../errors.ts";
import { finishName, finishTool } from "../tools/finish.ts";
import { builtInTools } from "../tools/registry.ts";
import type { Tool } from "../tools/tool.ts";
import { offeredTools } from "../trust/gate.ts";
import type { Settings } from "./settings.ts";

type Wanted = Pick<Settings, "tools" | "requiresFinish" | "answerSchema">;

/** The tools of a run. Finish is one of them only when nothing else may end the run. */
export function toolsOf(settings: Wanted, { withoutCommands = false } = {}): readonly Tool[] {
  const { requiresFinish, answerSchema, tools } = settings;
  if (requiresFinish && tools.deny.includes(finishName))
    throw new KodaError("usage", `--deny-tool ${finishName} cannot be used with --finish required, which needs it`);
  const known = requiresFinish ? [...builtInTools, finishTool(answerSchema)] : builtInTools;
  return offeredTools(known, toolChoice(settings), withoutCommands);
}

/** The tools that the flags name; --allow-tool does not take away the only end of a run. */
export function toolChoice({ tools: { allow, deny }, requiresFinish }: Wanted): Settings["tools"] {
  return { allow: requiresFinish && allow.length > 0 ? [...allow, finishName] : allow, deny };
}
