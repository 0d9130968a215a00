import type { Skills } from "../agents/skills.ts";
import { nearest } from "../nearest.ts";
import { invokeAgentName, taskSendName } from "../tools/agentcalls.ts";
import { builtInTools } from "../tools/registry.ts";
import { skillName } from "../tools/skill.ts";
import { visibleLine } from "../visible.ts";

/** koda's own tools but for Finish, whether or not a run has them. */
export const ownToolNames: readonly string[] = [
  ...builtInTools.map(({ name }) => name),
  skillName,
  invokeAgentName,
  taskSendName,
];

/**
 * A notice for each name in a skill's `allowed-tools` that is nearly that of a tool: it would deny what it was meant to
 * allow. Skills are shared between programs, so the names of other programs' tools are left alone.
 */
export function misspeltTools({ byName }: Skills): string[] {
  return [...byName.values()].flatMap(({ file, allowed = [] }) =>
    allowed.flatMap((entry) => {
      const [name = ""] = entry.split("(");
      const meant = isLeftAlone(name) ? undefined : nearest(name, ownToolNames);
      if (meant === undefined) return [];
      return [
        `The skill "${file.shown}" allows "${visibleLine(name)}", which is the name of no tool (did you mean "${meant}"?)`,
      ];
    }),
  );
}

/** A name with two underscores may be that of a server's tool. */
function isLeftAlone(name: string): boolean {
  return ownToolNames.includes(name) || name.includes("__") || name.endsWith("*");
}
