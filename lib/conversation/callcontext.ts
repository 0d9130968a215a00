import type { CallContext } from "../engine/turn.ts";
import type { Session } from "../session/session.ts";
import type { AgentCalls } from "../tools/agentcalls.ts";
import type { Elicit } from "../tools/elicitation.ts";
import type { Claim } from "../trust/claim.ts";
import type { Authority } from "./authority.ts";
import type { Hands, Workspace } from "./workspace.ts";

type Owner = {
  session: Session;
  workspace: Workspace;
  hands: Hands;
  agents: AgentCalls;
  authority: Authority;
  contextWindow: () => number;
  elicit: Elicit | undefined;
};

/** Makes the contexts of a conversation's calls. */
export class CallContexts {
  readonly #owner: Owner;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** The context of the call with this id; with a claim it may be one that gives no right to write. */
  readonly of = (call: string, claim?: Claim): CallContext => {
    const { session, workspace, hands, agents, authority, contextWindow, elicit } = this.#owner;
    const { files, outputs, recall, todo } = session;
    const { shell, tasks, connections } = hands;
    const policy = authority.policyFor(claim);
    const isReader = policy !== workspace.policy;
    return {
      shell,
      tasks,
      agents,
      policy,
      variables: () => ({
        ...workspace.proxyVariables(call, hands),
        ...(isReader && authority.isAgent && workspace.ownTemporary),
      }),
      egress: {
        ...workspace.egress.ofTools,
        ask: (question) => connections.ask(question, call),
        onRequest: (request) => connections.add(request, call),
      },
      refusals: connections.refusals,
      files,
      outputs,
      recall,
      todo,
      contextWindow: contextWindow(),
      elicit,
    };
  };
}
