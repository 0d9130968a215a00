import { describeChanges, describeEnvironment } from "../agents/environment.ts";
import { type Instructions, instructionFacts } from "../agents/instructions.ts";
import { skillFacts } from "../agents/skilllist.ts";
import type { Skills } from "../agents/skills.ts";
import type { ModelInfo } from "../model/model.ts";
import type { ConnectionFacts, EnvironmentFacts, ItemOf } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import type { Allowance } from "./allowance.ts";
import type { Settings } from "./settings.ts";
import type { Workspace } from "./workspace.ts";

type Facts = {
  settings: Settings;
  allowance: Allowance;
  workspace: Pick<Workspace, "policy">;
  info: ModelInfo;
  connection: ConnectionFacts | undefined;
  instructions: Instructions;
  /** Those that the model can load. */
  skills: Skills;
  /** The agent that the run is. */
  agent?: string | undefined;
};

/**
 * The environment for the model: all of it at the start of a session, later only the changes. It is an item of the log
 * and not a part of the system prompt, so that each request begins with the bytes of the last one. The next turn
 * commits it: a run that is refused before its turn changes nothing.
 */
export function environmentItem(session: Session, facts: Facts): ItemOf<"environment"> | undefined {
  const now = environmentOf(facts);
  const before = session.environment;
  const briefing = { ...facts.instructions, skills: [...facts.skills.byName.values()] };
  const isNew = before === undefined;
  const text = isNew ? describeEnvironment(now, briefing) : describeChanges(before, now, briefing);
  // A change that does not concern the model is recorded without a text.
  const isSame = text === undefined && Bun.deepEquals(before?.connection, now.connection);
  return isSame ? undefined : { kind: "environment", text: text ?? "", facts: now };
}

function environmentOf({
  settings,
  allowance,
  workspace,
  info,
  connection,
  instructions,
  skills,
  agent,
}: Facts): EnvironmentFacts {
  const { root, tmp, write } = workspace.policy;
  const { mode, ...granted } = allowance;
  return {
    cwd: root,
    date: new Date().toISOString().slice(0, 10),
    mode,
    sandbox: settings.sandboxed ? "on" : "off",
    // TMPDIR differs in every run, and commands have it as a variable.
    writable: write.filter((path) => path !== tmp),
    model: info.name,
    provider: info.provider,
    granted,
    instructions: instructionFacts(instructions),
    ...(skills.byName.size > 0 && { skills: skillFacts(skills) }),
    ...(connection !== undefined && { connection }),
    ...(agent !== undefined && { agent }),
  };
}
