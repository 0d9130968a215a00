import type { EventOf } from "../engine/event.ts";
import { visibleLine } from "../visible.ts";
import { type Field, fieldsOf, shownValue, textOfField, valueOf } from "./fields.ts";
import { indented } from "./listed.ts";

type ServerQuestion = EventOf<"elicitation.request">;

export type ServerAnswer = {
  op: "elicit";
  server: string;
  request: string;
  decision: "accept" | "decline";
  content?: Record<string, unknown>;
};

/** An answer, the text that asks for the next one, or why the line is none. */
type Step = ServerAnswer | { ask: string } | { problem: string };

/** A question of an MCP server, field by field: whether to answer at all, the values, and whether to send them. */
export class ElicitationForm {
  readonly #asked: ServerQuestion;
  readonly #fields: readonly Field[];
  #content: Record<string, unknown> = {};
  /** The number of fields that are done; undefined before the first is asked about. */
  #done: number | undefined;

  constructor(asked: ServerQuestion) {
    this.#asked = asked;
    this.#fields = fieldsOf(asked);
  }

  get prompt(): string {
    if (this.#done === undefined) return "Answer? y/n > ";
    return this.#field === undefined ? "Send? y/n/e > " : "Answer > ";
  }

  /** The question, from the start. */
  begin(): string {
    this.#done = undefined;
    this.#content = {};
    const { server, message, url, host } = this.#asked;
    const asks = `? The MCP server "${server}" asks you`;
    if (host !== undefined)
      return [
        `${visibleLine(`${asks} to visit a page of ${host}`)}:`,
        ...indented(message),
        `    ${visibleLine(url ?? "")}`,
        "  y: yes, koda does not open it for you · n: no",
      ].join("\n");
    const names = this.#fields.map(({ label }) => label).join(", ");
    const fields = names === "" ? [] : [`  It wants to know: ${visibleLine(names)}`];
    return [visibleLine(`${asks}:`), ...indented(message), ...fields].join("\n");
  }

  answer(line: string): Step {
    const field = this.#field;
    if (field === undefined) return this.#decide(line.trim().toLowerCase());
    const value = valueOf(field, line.trim());
    if (typeof value === "object" && "problem" in value) return value;
    if (value.given !== undefined) this.#content[field.name] = value.given;
    this.#done = (this.#done ?? 0) + 1;
    return { ask: this.#next() };
  }

  get #field(): Field | undefined {
    return this.#done === undefined ? undefined : this.#fields[this.#done];
  }

  #decide(letter: string): Step {
    const { id: request, server } = this.#asked;
    const isFirst = this.#done === undefined;
    if (letter === "n" || letter === "no") return { op: "elicit", server, request, decision: "decline" };
    if (letter === "e" && !isFirst) this.#content = {};
    else if (letter !== "y" && letter !== "yes")
      return { problem: `Expected ${isFirst ? "y or n" : "y, n, or e to edit"}; Ctrl-C ends the turn` };
    else if (!isFirst || this.#fields.length === 0) return this.#accept();
    this.#done = 0;
    return { ask: this.#next() };
  }

  #accept(): ServerAnswer {
    const { id: request, server, schema } = this.#asked;
    const content = schema === undefined ? {} : { content: this.#content };
    return { op: "elicit", server, request, decision: "accept", ...content };
  }

  #next(): string {
    if (this.#field !== undefined) return textOfField(this.#field);
    const rows = this.#fields.map(({ name, label }) => [label, shownValue(this.#content[name])] as const);
    return rows.map(([label, value]) => `    ${visibleLine(`${label}: ${value}`)}`).join("\n");
  }
}
