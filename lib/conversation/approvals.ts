import type { Event } from "../engine/event.ts";
import { messageOf } from "../errors.ts";
import { type ApprovalDecision, isApproval } from "../trust/approvaldecision.ts";
import { type GatedCall, namesServerTool, type Verdict } from "../trust/gate.ts";
import { HostApprovals } from "./hostapprovals.ts";
import type { PendingApprovals } from "./pendingapprovals.ts";

type ApprovalOptions = {
  pending: PendingApprovals;
  post: (event: Event) => void;
  /** Saves the start of a command in the user's configuration. */
  remember: (prefix: string) => Promise<void>;
};

/** A call that the gate denies and a human may approve. */
type Asked = {
  rule: string;
  cwd: string;
  home: string;
  /** Starts of commands in the user's configuration. */
  saved: readonly string[];
};

/** The questions to the user about calls, and the answers that count for longer. */
export class Approvals {
  /** Absent where the user cannot be asked. */
  readonly hosts: HostApprovals | undefined;
  readonly #options: ApprovalOptions | undefined;
  /** Tools with an effect, as allowed for the session, by their scope. */
  readonly #tools = new Map<string, string>();
  readonly #prefixes: string[] = [];

  /** Without options the user cannot be asked. */
  constructor(options?: ApprovalOptions) {
    this.#options = options;
    this.hosts = options && new HostApprovals(options.pending);
  }

  /** Asks about a call that the gate denies, unless an earlier answer covers it. */
  async ask(call: GatedCall, asked: Asked): Promise<Verdict> {
    const { rule, home, saved } = asked;
    const denials = this.#options?.pending.denials;
    const isLasting = call.claim.effect !== "destructive";
    if (isLasting && this.#tools.has(scopeOf(call))) return { allow: true };
    const command = isLasting ? commandOf(call) : undefined;
    const { commandPrefix, startsWith } =
      command === undefined ? noCommands : await import("../trust/commandprefix.ts");
    if (command !== undefined && startsWith(command, [...saved, ...this.#prefixes], home)) return { allow: true };
    const prefix = command === undefined ? undefined : commandPrefix(command, home);
    const pending = this.#options?.pending;
    const preview = pending === undefined ? undefined : await call.preview?.();
    // The turn or the chat may have ended meanwhile.
    if (pending?.canAsk !== true || pending.denials !== denials) return { allow: false, rule };
    const { decision, feedback } = await pending.ask({
      id: call.id,
      request: (id) => requestOf({ ...call, id }, { ...asked, prefix, preview, isLasting }),
      objection: (decision) => objectionTo(decision, call, prefix),
    });
    if (decision === "session") this.#tools.set(scopeOf(call), call.tool);
    if (decision === "prefix" && prefix !== undefined) void this.#remember(prefix);
    return isApproval(decision) ? { allow: true } : { allow: false, rule, said: feedback };
  }

  /** Forgets all answers that counted for longer, but for starts of commands: they hold everywhere. */
  forget(): void {
    this.#tools.clear();
    this.hosts?.forget();
  }

  /** Forgets those about the tools of MCP servers. */
  forgetServers(): void {
    for (const [scope, tool] of this.#tools) if (namesServerTool(tool)) this.#tools.delete(scope);
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

function objectionTo(decision: ApprovalDecision, { id, claim }: GatedCall, prefix: string | undefined) {
  if (decision === "session" && claim.effect === "destructive")
    return "A destructive call can be approved only once: decide once or deny";
  if (decision === "prefix" && prefix === undefined)
    return `The call "${id}" has no prefix to remember: decide once, session or deny`;
  return undefined;
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
