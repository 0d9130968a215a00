import type { CallContext } from "../engine/turn.ts";
import { type Policy, readOnly, withoutEffects } from "../sandbox/policy/policy.ts";
import type { Session } from "../session/session.ts";
import type { AgentCalls } from "../tools/agentcalls.ts";
import type { Claim } from "../trust/claim.ts";
import type { Hands, Workspace } from "./workspace.ts";

type Owner = { session: Session; workspace: Workspace; hands: Hands; agents: AgentCalls; contextWindow: number } & {
  isAgent: boolean;
};

/** Makes the contexts of a conversation's calls. */
export class CallContexts {
  readonly #owner: Owner;
  /** One object: the sandbox prepares each policy once. */
  #readers: Policy | undefined;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** The context of the call with this id; with a claim it may be one that gives no right to write. */
  of(
    call: string,
    { claim, mayWrite }: { claim?: Claim | undefined; mayWrite: (claim: Claim) => boolean },
  ): CallContext {
    const { session, workspace, hands, agents, contextWindow, isAgent } = this.#owner;
    const { files, outputs, recall, todo } = session;
    const { shell, tasks, connections } = hands;
    const isReader = claim !== undefined && !mayWrite(claim);
    return {
      shell,
      tasks,
      agents,
      policy: isReader ? (this.#readers ??= (isAgent ? withoutEffects : readOnly)(workspace.policy)) : workspace.policy,
      variables: () => ({
        ...workspace.proxyVariables(call, hands),
        ...(isReader && isAgent && workspace.ownTemporary),
      }),
      egress: { ...workspace.egress.ofTools, onRequest: (request) => connections.add(request, call) },
      refusals: connections.refusals,
      files,
      outputs,
      recall,
      todo,
      contextWindow,
    };
  }
}
