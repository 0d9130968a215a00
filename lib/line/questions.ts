import type { EventOf } from "../engine/event.ts";
import { counted } from "../counted.ts";
import type { ApprovalDecision } from "../trust/approvaldecision.ts";
import { visible, visibleLine } from "../visible.ts";
import { ElicitationForm, type ServerAnswer } from "./form.ts";
import { indented } from "./listed.ts";

type Asked = EventOf<"approval.request" | "question" | "elicitation.request">;
type Told = Asked | EventOf<"approval.decision" | "question.end" | "elicitation.decision">;

/** An answer as it is submitted. */
type Answer =
  | { op: "approve"; call: string; decision: ApprovalDecision; feedback?: string }
  | { op: "answer"; question: string; text: string }
  | ServerAnswer;

const keys = { y: "once", a: "session", p: "prefix", n: "deny", f: "deny" } as const;

/** Questions of koda about calls and hosts, of the model and of MCP servers, one after the other. */
export class Questions {
  readonly #open: Asked[] = [];
  #wantsFeedback = false;
  /** The current question, when it is a server's. */
  #form: ElicitationForm | undefined;

  get current(): Asked | undefined {
    return this.#open[0];
  }

  get prompt(): string {
    if (this.#form !== undefined) return this.#form.prompt;
    if (this.current?.type === "question") return "Answer > ";
    if (this.#wantsFeedback) return "What to do instead? ";
    return `Allow? ${this.#letters().join("/")} > `;
  }

  /** Takes note of an event; returns the question that is now to be asked. */
  see(event: Told): string | undefined {
    const before = this.current;
    if (isAsked(event)) this.#open.push(event);
    else {
      const at = this.#open.findIndex(({ id }) => id === event.id);
      if (at !== -1) this.#open.splice(at, 1);
    }
    if (this.current === before) return undefined;
    this.#wantsFeedback = false;
    this.#form = this.current?.type === "elicitation.request" ? new ElicitationForm(this.current) : undefined;
    return this.current && this.#text(this.current);
  }

  /** The question of a server from the start, when it did not take this answer. */
  again({ op }: Answer): string | undefined {
    return op === "elicit" ? this.#form?.begin() : undefined;
  }

  /** The decision that a line is, or why it is none, or what the next line has to answer; nothing for the feedback. */
  answer(line: string): Answer | { problem: string } | { ask: string } | undefined {
    const { current } = this;
    if (this.#form !== undefined) return this.#form.answer(line);
    if (current === undefined || current.type === "elicitation.request") return { problem: "There is no question" };
    if (current.type === "question") return answerTo(current, line);
    const { id: call } = current;
    if (this.#wantsFeedback) return { op: "approve", call, decision: "deny", feedback: line };
    const [, letter = "", feedback = ""] = /^\s*(\w+)\s*([\s\S]*)$/.exec(line) ?? [];
    const key = letter.toLowerCase()[0] as keyof typeof keys;
    const decision = this.#letters().includes(key) && isAnswer(letter, feedback) ? keys[key] : undefined;
    if (decision === undefined) return { problem: `Expected ${this.#letters().join(", ")}; Ctrl-C ends the turn` };
    if (key !== "f") return { op: "approve", call, decision };
    if (feedback !== "") return { op: "approve", call, decision, feedback };
    this.#wantsFeedback = true;
    return undefined;
  }

  #letters(): (keyof typeof keys)[] {
    const decisions = this.current?.type === "approval.request" ? this.current.decisions : [];
    return (["y", "a", "p", "n", "f"] as const).filter((key) => decisions.includes(keys[key]));
  }

  #text(asked: Asked): string {
    if (asked.type === "question") return textOfQuestion(asked);
    if (asked.type === "elicitation.request") return this.#form?.begin() ?? "";
    const { tool, effect, rule, cwd, prefix, input, preview, decisions } = asked;
    const more = this.#open.length - 1;
    const rest = more === 0 ? "" : `; ${counted(more, "more question")} after this`;
    const place = placeOf(asked);
    if (place !== undefined)
      return [
        `? May this run connect to ${visibleLine(place)}? (rule: ${visibleLine(rule)}${rest})`,
        "  y, a: for this session · n: no · f: no, and why",
      ].join("\n");
    const meanings = [
      "y: once",
      decisions.includes("session") && `a: such calls of ${tool}, for this session`,
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

function isAsked(event: Told): event is Asked {
  return event.type === "approval.request" || event.type === "question" || event.type === "elicitation.request";
}

/** The host that a question is about, with its port. */
function placeOf({ host, port }: EventOf<"approval.request">): string | undefined {
  if (host === undefined) return undefined;
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function answerTo({ id: question }: EventOf<"question">, line: string): Answer | { problem: string } {
  const text = line.trim();
  return text === "" ? { problem: "Expected an answer; Ctrl-C ends the turn" } : { op: "answer", question, text };
}

function textOfQuestion({ question, options }: EventOf<"question">): string {
  const choice = options.length === 0 ? [] : ["  The number of one of these, or any text"];
  const numbered = options.map((option, index) => `    ${index + 1}. ${visibleLine(option)}`);
  return [`? ${visible(question)}`, ...numbered, ...choice].join("\n");
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
