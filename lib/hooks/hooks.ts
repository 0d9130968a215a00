import type { HookConfig, HookMoment } from "../config/config.ts";
import type { HookTurn, HookOccasion, Hooks, HookVerdict } from "../engine/hooks.ts";
import { shortened } from "../session/graphemes.ts";
import { isEnding } from "./decision.ts";
import { faultOfMatch, matches } from "./match.ts";
import { type HookEnd, runHook } from "./run.ts";

type HooksOptions = {
  /** The names of all tools that there are. */
  tools: readonly string[];
  warn: (message: string) => void;
};

/** The hooks of a conversation, in the order of the configuration. */
export function openHooks(configured: readonly HookConfig[], { tools, warn }: HooksOptions): Hooks {
  for (const fault of hookFaults(configured, tools)) warn(fault);
  let count = 0;
  const hooksOn = (on: HookMoment, tool?: string) =>
    configured.filter((hook) => hook.on === on && (tool === undefined || matches(hook, tool)));
  const hooksOf = (occasion: HookOccasion) => hooksOn(occasion.on, "tool" in occasion ? occasion.tool : undefined);

  return {
    has: (on, tool) => hooksOn(on, tool).length > 0,

    async run(occasion, turn, signal) {
      const tally = new Tally(occasion, turn);
      // koda itself is what waits.
      using _ = turn.waits();
      for (const hook of hooksOf(occasion)) {
        const { shell, policy, variables } = turn.contextOf(`hook-${++count}`);
        const context = { shell, policy, env: variables() };
        tally.add(hook, await runHook(hook, tally.input(), context, signal));
      }
      return tally.verdict;
    },

    fail(occasion, turn, problem) {
      const tally = new Tally(occasion, turn);
      for (const hook of hooksOf(occasion)) tally.add(hook, { failed: problem });
      return tally.verdict;
    },
  };
}

/** Those that may not run when they should. */
export function hookFaults(configured: readonly HookConfig[], tools: readonly string[]): string[] {
  return configured.flatMap((hook) => {
    const fault = faultOfMatch(hook, tools);
    return fault === undefined ? [] : [`The ${nameOf(hook)} may not run when it should: ${fault}`];
  });
}

const mostReason = 4_000;
const mostContext = 16_000;

/** The answers of the hooks of one occasion. All of them run, and a denial of any of them wins. */
class Tally {
  readonly #occasion: HookOccasion;
  readonly #turn: HookTurn;
  readonly #denials: { rule: string; reason: string }[] = [];
  readonly #context: string[] = [];
  #rewritten: { input: unknown } | undefined;

  constructor(occasion: HookOccasion, turn: HookTurn) {
    this.#occasion = occasion;
    this.#turn = turn;
  }

  /** The input of the next hook: it sees a call's arguments as those before it have rewritten them. */
  input(): object {
    const { on, ...fields } = this.#occasion;
    const { session, contextOf } = this.#turn;
    const { agent, turns: turn } = session.info;
    const { root: cwd } = contextOf("hook").policy;
    const about = { hook: on, session: session.id, ...(agent !== undefined && { agent }), turn, cwd };
    // The paths were those of the arguments before.
    return { ...about, ...fields, ...(this.#rewritten && { ...this.#rewritten, writes: undefined }) };
  }

  add(hook: HookConfig, end: HookEnd): void {
    if (end.leftBehind) this.#post("info", `Processes that the ${nameOf(hook)} left running were stopped`);
    if ("failed" in end) return this.#fail(hook, end.failed);
    const exposure = this.#turn.watchKey(nameOf(hook), `${end.denied ?? ""}${end.context ?? ""}`);
    if (exposure !== undefined) this.#turn.events.post(exposure);
    if (end.denied !== undefined) this.#deny(hook, end.denied.trim() || "it gave no reason");
    if (end.context !== undefined) this.#context.push(shortened(end.context, mostContext));
    if (end.rewritten !== undefined) this.#rewritten = end.rewritten;
  }

  get verdict(): HookVerdict {
    const [first] = this.#denials;
    const reason = this.#denials.map((denial) => denial.reason).join("\n");
    return {
      ...(first !== undefined && { denied: { rule: first.rule, reason } }),
      ...(this.#rewritten !== undefined && { rewritten: this.#rewritten }),
      ...(this.#context.length > 0 && { context: this.#context.join("\n\n") }),
    };
  }

  #fail(hook: HookConfig, problem: string): void {
    const { on, required } = hook;
    this.#post(required ? "error" : "warn", `The ${nameOf(hook)} failed: ${problem}`);
    if (required && !isEnding(on)) this.#deny(hook, `it is required, and failed: ${problem}`);
  }

  #deny(hook: HookConfig, said: string): void {
    const reason = shortened(said, mostReason);
    this.#denials.push({ rule: `hook "${shortened(hook.command, mostOfRule)}": ${reason}`, reason });
    // The end of a call has the rule itself, and a denied start the error.
    if (hook.on === "tool.after" || hook.on === "stop") this.#post("info", `Denied by the ${nameOf(hook)}: ${reason}`);
  }

  #post(level: "info" | "warn" | "error", message: string): void {
    this.#turn.events.post({ type: "notice", level, code: "hook", message });
  }
}

/** In a narrow terminal a rule is cut, and the reason has to be seen. */
const mostOfRule = 30;
const mostOfName = 100;

function nameOf({ on, command }: HookConfig): string {
  return `hook "${shortened(command, mostOfName)}" (${on})`;
}
