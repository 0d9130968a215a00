import type { Mode } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import { parseAgent } from "./agentfile.ts";
import explore from "./built-in/explore.md" with { type: "text" };
import plan from "./built-in/plan.md" with { type: "text" };
import review from "./built-in/review.md" with { type: "text" };
import task from "./built-in/task.md" with { type: "text" };
import { type DefinitionFile, type DefinitionRequest, findDefinitions, readDefinition } from "./places.ts";

/** An agent that the model can start, or that a run can be. */
export type AgentDefinition = {
  readonly name: string;
  /** When to use it, on one line. */
  readonly description: string;
  readonly scope: "built-in" | "user" | "project";
  /** Its system prompt. */
  readonly prompt: string;
  readonly model?: string;
  readonly mode?: Mode;
  /** Exactly the tools that it is offered; all of its parent's when absent. */
  readonly tools?: readonly string[];
  readonly maxTurns?: number;
  /** Differs when anything of the definition does. */
  readonly hash: string;
  /** The file, for messages; absent for a built-in one. */
  readonly shown?: string;
};

/** The agents of a run by name, and what is wrong with others. */
export type Agents = {
  readonly byName: ReadonlyMap<string, AgentDefinition>;
  /** Why the file of a name is not loaded. */
  readonly broken: ReadonlyMap<string, string>;
  readonly notices: readonly string[];
};

/** `tools` are those that a definition may name, beside those of servers. */
type AgentRequest = DefinitionRequest & { readonly tools: readonly string[] };

/** With `--bare` a run has only these. */
export const builtInAgents: Agents = withBuiltIn(new Map(), { broken: new Map(), notices: [] });

const largestFile = 64 * 1024;

/**
 * The agents of a run. Of files with the same name the first counts: the project's, the user's, those of plugins. When
 * it is broken no agent has that name, since the next one might do what this one was meant to forbid.
 */
export function findAgents(request: AgentRequest): Agents {
  const fileOf = (entry: string) => (entry.endsWith(extension) ? entry : undefined);
  const { files, notices: unread } = findDefinitions("agents", fileOf, request);
  const own = new Map<string, AgentDefinition | undefined>();
  const broken = new Map<string, string>();
  const notices = [...unread];
  for (const file of files) {
    const name = file.entry.slice(0, -extension.length);
    if (own.has(name)) continue;
    const read = readAgent(file, { name, known: request.tools });
    own.set(name, read.agent);
    if (read.agent === undefined) broken.set(name, read.notices.join("; "));
    notices.push(...read.notices);
  }
  return withBuiltIn(own, { broken, notices });
}

const extension = ".md";

type Named = { name: string; known: readonly string[] };

function readAgent(file: DefinitionFile, { name, known }: Named): { agent?: AgentDefinition; notices: string[] } {
  const { scope, shown } = file;
  const notLoaded = (problem: string) => ({ notices: [`The agent "${shown}" is not loaded: ${problem}`] });
  const read = readDefinition(file, largestFile);
  if ("problem" in read) return notLoaded(read.problem);
  if (read.isCut) return notLoaded(`it is larger than ${largestFile / 1024} KiB`);
  try {
    const { agent, notices } = parseAgent(read.text, { name, known });
    return {
      agent: { name, scope, ...agent, hash: hashOf(read.text), shown },
      notices: notices.map((notice) => `The agent "${shown}" has a mistake: ${notice}`),
    };
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    return notLoaded(error.message);
  }
}

/** The built-in ones are parsed when they are first looked at. */
function withBuiltIn(
  own: ReadonlyMap<string, AgentDefinition | undefined>,
  found: Pick<Agents, "broken" | "notices">,
): Agents {
  let all: ReadonlyMap<string, AgentDefinition> | undefined;
  const allOf = () => {
    const named = new Map([...builtInOnes(), ...own]);
    return new Map([...named].flatMap(([name, agent]) => (agent === undefined ? [] : [[name, agent]])));
  };
  return {
    get byName() {
      return (all ??= allOf());
    },
    ...found,
  };
}

const texts = { explore, plan, review, task };

function builtInOnes(): [name: string, agent: AgentDefinition | undefined][] {
  return Object.entries(texts).map(([name, text]) => {
    const { agent } = parseAgent(text, { name, known: [] });
    return [name, { name, scope: "built-in", ...agent, hash: hashOf(text) }];
  });
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
