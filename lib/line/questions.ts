import type { EventOf } from "../engine/event.ts";
import { counted } from "../counted.ts";
import type { ApprovalDecision } from "../trust/approvaldecision.ts";
import { visible, visibleLine } from "../visible.ts";

type Request = EventOf<"approval.request">;
type Answer = { call: string; decision: ApprovalDecision; feedback?: string };

const keys = { y: "once", a: "session", p: "prefix", n: "deny", f: "deny" } as const;

/** Questions about calls and hosts, one after the other. */
export class Questions {
  readonly #open: Request[] = [];
  #wantsFeedback = false;

  get current(): Request | undefined {
    return this.#open[0];
  }

  get prompt(): string {
    if (this.#wantsFeedback) return "What to do instead? ";
    return `Allow? ${this.#letters().join("/")} > `;
  }

  /** Takes note of an event; returns the question that is now to be asked. */
  see(event: Request | EventOf<"approval.decision">): string | undefined {
    const before = this.current;
    if (event.type === "approval.request") this.#open.push(event);
    else {
      const at = this.#open.findIndex(({ id }) => id === event.id);
      if (at !== -1) this.#open.splice(at, 1);
    }
    if (this.current === before || this.current === undefined) return undefined;
    this.#wantsFeedback = false;
    return this.#text(this.current);
  }

  /** The decision that a line is, or why it is none; undefined when the next line has the feedback. */
  answer(line: string): Answer | { problem: string } | undefined {
    const { id: call, decisions } = this.current ?? {};
    if (call === undefined || decisions === undefined) return { problem: "No call waits for approval" };
    if (this.#wantsFeedback) return { call, decision: "deny", feedback: line };
    const [, letter = "", feedback = ""] = /^\s*(\w+)\s*([\s\S]*)$/.exec(line) ?? [];
    const key = letter.toLowerCase()[0] as keyof typeof keys;
    const decision = this.#letters().includes(key) && isAnswer(letter, feedback) ? keys[key] : undefined;
    if (decision === undefined) return { problem: `Expected ${this.#letters().join(", ")}; Ctrl-C ends the turn` };
    if (key !== "f") return { call, decision };
    if (feedback !== "") return { call, decision, feedback };
    this.#wantsFeedback = true;
    return undefined;
  }

  #letters(): (keyof typeof keys)[] {
    const decisions = this.current?.decisions ?? [];
    return (["y", "a", "p", "n", "f"] as const).filter((key) => decisions.includes(keys[key]));
  }

  #text(request: Request): string {
    const { tool, effect, rule, cwd, prefix, input, preview, decisions } = request;
    const more = this.#open.length - 1;
    const rest = more === 0 ? "" : `; ${counted(more, "more question")} after this`;
    const place = placeOf(request);
    if (place !== undefined)
      return [
        `? May this run connect to ${visibleLine(place)}? (rule: ${visibleLine(rule)}${rest})`,
        "  y, a: until the chat ends · n: no · f: no, and why",
      ].join("\n");
    const meanings = [
      "y: once",
      decisions.includes("session") && `a: such calls of ${tool}, until the chat ends`,
      prefix !== undefined && `p: commands that begin with "${prefix}", from now on`,
      "n: no",
      "f: no, and what to do instead",
    ];
    return [
      `? May ${visibleLine(tool)} do this? (${effect}; rule: ${visibleLine(rule)}${rest})`,
      ...indented(preview ?? described(input)),
      `    in ${visibleLine(cwd)}`,
      `  ${visibleLine(meanings.filter(Boolean).join(" · "))}`,
    ].join("\n");
  }
}

/** The host that a question is about, with its port. */
function placeOf({ host, port }: Request): string | undefined {
  if (host === undefined) return undefined;
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** `y`, `yes`, `f use another file`; any other sentence was meant for the model. */
function isAnswer(letter: string, feedback: string): boolean {
  const isWord = letter.length === 1 || ["yes", "no", "always"].includes(letter.toLowerCase());
  return isWord && (feedback === "" || letter.toLowerCase() === "f");
}

function described(input: unknown): string {
  const { command, ...others } = (input ?? {}) as Record<string, unknown>;
  const rest = Object.entries(others).map(([name, value]) => `${name}: ${textOf(value)}`);
  return [...(command === undefined ? [] : [textOf(command)]), ...rest].join("\n");
}

function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.includes("\n") ? `\n${text.trimEnd().replaceAll(/^/gm, "  ")}` : text;
}

function indented(text: string): string[] {
  return visible(text)
    .trimEnd()
    .split("\n")
    .map((line) => `    ${line}`);
}
