import type { Mode } from "../config/config.ts";
import { type Policy, readOnly, withoutEffects } from "../sandbox/policy/policy.ts";
import type { ActiveSkill } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import { askUserName } from "../tools/askuser.ts";
import { invokeAgentName } from "../tools/agentcalls.ts";
import type { Claim } from "../trust/claim.ts";
import type { Gate, GatedCall, Verdict } from "../trust/gate.ts";
import { lowerMode } from "../trust/mode.ts";
import type { Stance } from "./stance.ts";

type Owner = {
  session: Session;
  stance: () => Stance;
  /** The workspace's. */
  policy: Policy;
  /** That of the conversation that has started this one, which is then an agent. */
  parent: Authority | undefined;
  /** Asks the user about a call; absent for an agent. */
  approvals: ((call: GatedCall, rule: string) => Promise<Verdict>) | undefined;
};

/**
 * The rights of a conversation's calls. Those of the user's own conversation are settled when a turn begins; those of
 * an agent are never wider than its parent's at that moment.
 */
export class Authority {
  readonly #owner: Owner;
  #turn: { mode: Mode; skillsSince: number };
  /** One object: the sandbox prepares each policy once. */
  #readers: Policy | undefined;

  constructor(owner: Owner) {
    this.#owner = owner;
    this.#turn = { mode: this.mode, skillsSince: owner.session.info.length };
  }

  /** A turn begins. Skills that were loaded after this place in the log narrow it. */
  begin({ skillsSince }: { skillsSince: number }): void {
    this.#turn = { mode: this.mode, skillsSince };
  }

  get isAgent(): boolean {
    return this.#owner.parent !== undefined;
  }

  /** The mode of the next turn, and the highest of agents now. */
  get mode(): Mode {
    const { stance, parent } = this.#owner;
    const { mode } = stance().allowance;
    return parent === undefined ? mode : lowerMode(mode, parent.mode);
  }

  /** The mode in which the turn began; before the first, that of the session. */
  get turnMode(): Mode {
    return this.#turn.mode;
  }

  /** A fork is offered the tools of its parent, and may not use all of them. No one is asked about its calls. */
  readonly gate: Gate = async (call) => {
    const { stance, approvals } = this.#owner;
    if (this.isAgent && call.tool === invokeAgentName) return { allow: false, rule: "an agent cannot start agents" };
    if (this.isAgent && call.tool === askUserName) return { allow: false, rule: "an agent cannot ask the user" };
    const verdict = await stance().gateFor(this.#callMode)(call);
    if (verdict.allow || verdict.asks !== true || approvals === undefined) return verdict;
    return await approvals(call, verdict.rule);
  };

  /** The skills that narrow calls: each counts for the run in which it was loaded, and for one that goes on. */
  activeSkills(): readonly ActiveSkill[] {
    const { session, parent } = this.#owner;
    const own = session.skillSince(this.#turn.skillsSince);
    return [...(own === undefined ? [] : [own]), ...(parent?.activeSkills() ?? [])];
  }

  /**
   * The policy of a call with this claim. The classification of a command is a guess, and the modes that depend on it
   * are held by the kernel.
   */
  policyFor(claim: Claim | undefined): Policy {
    const { policy } = this.#owner;
    if (claim === undefined || this.#callMode === "auto") return policy;
    if (!this.isAgent && claim.effect !== "read") return policy;
    return this.#forReaders;
  }

  /** For commands of the user's own. */
  get userPolicy(): Policy {
    return this.mode === "plan" ? this.#forReaders : this.#owner.policy;
  }

  get #forReaders(): Policy {
    return (this.#readers ??= (this.isAgent ? withoutEffects : readOnly)(this.#owner.policy));
  }

  get #callMode(): Mode {
    return this.isAgent ? this.mode : this.#turn.mode;
  }
}
