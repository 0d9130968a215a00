import type { Event } from "../engine/event.ts";
import { messageOf } from "../errors.ts";
import type { ApprovalDecision } from "../trust/approvaldecision.ts";
import type { GatedCall, Verdict } from "../trust/gate.ts";

type ApprovalOptions = {
  post: (event: Event) => void;
  /** Stops the clock of --idle-timeout while a question is open. */
  waits: () => Disposable;
  /** Saves the start of a command in the user's configuration. */
  remember: (prefix: string) => Promise<void>;
  /** Ends the turn. */
  abort: () => void;
};

/** A call that the gate denies and a human may approve. */
type Asked = {
  rule: string;
  cwd: string;
  home: string;
  /** Starts of commands in the user's configuration. */ saved: readonly string[];
};

type Question = { call: GatedCall; rule: string; prefix: string | undefined; settle: (verdict: Verdict) => void };

/** The questions to the user about calls, and the answers that count for longer. */
export class Approvals {
  readonly #options: ApprovalOptions | undefined;
  readonly #open = new Map<string, Question>();
  /** Tools with an effect, as allowed for the session. */
  readonly #scopes = new Set<string>();
  readonly #prefixes: string[] = [];
  #isOver = false;

  /** Without options nobody can be asked. */
  constructor(options?: ApprovalOptions) {
    this.#options = options;
  }

  /** Asks about a call that the gate denies, unless an earlier answer covers it. */
  async ask(call: GatedCall, asked: Asked): Promise<Verdict> {
    const { rule, home, saved } = asked;
    const isLasting = call.claim.effect !== "destructive";
    if (isLasting && this.#scopes.has(scopeOf(call))) return { allow: true };
    const command = isLasting ? commandOf(call) : undefined;
    const { commandPrefix, startsWith } =
      command === undefined ? noCommands : await import("../trust/commandprefix.ts");
    if (command !== undefined && startsWith(command, [...saved, ...this.#prefixes], home)) return { allow: true };
    const prefix = command === undefined ? undefined : commandPrefix(command, home);
    const preview = this.#options === undefined ? undefined : await call.preview?.();
    // The chat may have ended meanwhile.
    if (this.#options === undefined || this.#isOver) return { allow: false, rule };
    const { promise, resolve } = Promise.withResolvers<Verdict>();
    const id = this.#open.has(call.id) ? `${call.id}#${this.#open.size}` : call.id;
    this.#open.set(id, { call, rule, prefix, settle: resolve });
    this.#options.post(requestOf({ ...call, id }, { ...asked, prefix, preview, isLasting }));
    using _ = this.#options.waits();
    return await promise;
  }

  /** Answers a question. Returns why it cannot, such as for a call that nobody asks about. */
  decide(id: string, decision: ApprovalDecision, feedback?: string): string | undefined {
    const question = this.#open.get(id);
    if (question === undefined) return `No call "${id}" waits for approval`;
    const { call, prefix } = question;
    if (decision === "session" && call.claim.effect === "destructive")
      return "A destructive call can be approved only once: decide once or deny";
    if (decision === "prefix" && prefix === undefined)
      return `The call "${id}" has no prefix to remember: decide once, session or deny`;
    if (decision === "session") this.#scopes.add(scopeOf(call));
    if (decision === "prefix" && prefix !== undefined) void this.#remember(prefix);
    this.#settle(id, decision, feedback);
    if (decision === "abort") this.#options?.abort();
    return undefined;
  }

  /** Denies all open questions, since the turn is over for another reason. */
  denyAll(reason: string): void {
    for (const id of this.#open.keys()) this.#settle(id, "deny", reason);
  }

  /** Nobody can answer any more. */
  close(): void {
    this.#isOver = true;
    this.denyAll("nobody can answer any more");
  }

  #settle(id: string, decision: ApprovalDecision, feedback: string | undefined): void {
    const question = this.#open.get(id);
    if (question === undefined) return;
    this.#open.delete(id);
    const { rule, settle } = question;
    const said = feedback ?? "";
    this.#options?.post({ type: "approval.decision", id, decision, ...(said !== "" && { feedback: said }) });
    const isAllowed = decision !== "deny" && decision !== "abort";
    settle(isAllowed ? { allow: true } : { allow: false, rule, said });
  }

  /** The decision holds also where it cannot be saved. */
  async #remember(prefix: string): Promise<void> {
    this.#prefixes.push(prefix);
    try {
      await this.#options?.remember(prefix);
    } catch (error) {
      const message = `"${prefix}" is allowed in this chat, but could not be saved: ${messageOf(error)}`;
      this.#options?.post({ type: "notice", level: "warn", code: "approval", message });
    }
  }
}

type Request = Asked & { prefix: string | undefined; preview: string | undefined; isLasting: boolean };

function requestOf({ id, tool, input, claim: { effect } }: GatedCall, request: Request): Event {
  const { rule, cwd, prefix, preview, isLasting } = request;
  const lasting: ApprovalDecision[] = [
    ...(isLasting ? ["session" as const] : []),
    ...(prefix === undefined ? [] : ["prefix" as const]),
  ];
  return {
    type: "approval.request",
    id,
    tool,
    input,
    effect,
    rule,
    cwd,
    ...(preview !== undefined && { preview }),
    ...(prefix !== undefined && { prefix }),
    decisions: ["once", ...lasting, "deny", "abort"],
  };
}

function scopeOf({ tool, claim }: GatedCall): string {
  return `${tool} ${claim.effect}`;
}

function commandOf({ tool, input }: GatedCall): string | undefined {
  const { command } = (input ?? {}) as { command?: unknown };
  return tool === "Bash" && typeof command === "string" ? command : undefined;
}

const noCommands = { commandPrefix: () => undefined, startsWith: () => false };
