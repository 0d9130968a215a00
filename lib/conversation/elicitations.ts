import type { Event, EventOf } from "../engine/event.ts";
import { checkerOf, describeProblems, type Problem } from "../engine/schema.ts";
import type { Elicit, ElicitationAnswer } from "../tools/elicitation.ts";
import { OpenQuestions, type Waits } from "./openquestions.ts";

type ElicitationOptions = { post: (event: Event) => void; waits: Waits };

type Asked = {
  server: string;
  /** Undefined for a page. */
  check: ((content: unknown) => readonly Problem[]) | undefined;
};

type Answered = {
  server: string;
  request: string;
  decision: ElicitationAnswer["action"];
  content?: Record<string, unknown> | undefined;
};

/** A server that asks again and again must not fill the user's screen. */
const mostOpen = 8;

/** The questions of MCP servers to the user. */
export class Elicitations {
  readonly #post: ElicitationOptions["post"];
  readonly #open: OpenQuestions<Asked, ElicitationAnswer>;
  #count = 0;
  #isOver = false;

  constructor({ post, waits }: ElicitationOptions) {
    this.#post = post;
    this.#open = new OpenQuestions(waits);
  }

  readonly ask: Elicit = async (asked, signal) => {
    const check = "schema" in asked ? await checkerOf(asked.schema) : undefined;
    if (this.#isOver || signal.aborted) return cancelled;
    if ([...this.#open.ids].length >= mostOpen) return { action: "decline" };
    const { server } = asked;
    const tell = (id: string) => {
      this.#post({ type: "elicitation.request", id, ...asked });
      signal.addEventListener("abort", () => this.#settle(id, cancelled), { once: true });
    };
    return await this.#open.put({ server, check }, { wanted: `${server}-${++this.#count}`, tell });
  };

  /** Answers a question. Returns why it is no answer; the question stays open then. */
  answer({ server, request, decision: action, content }: Answered): string | undefined {
    const asked = this.#open.find(request);
    if (asked?.server !== server) return `No question "${request}" of the MCP server "${server}" is open`;
    const isForm = action === "accept" && asked.check !== undefined;
    if (content !== undefined && !isForm) return 'Expected "content" only to accept a question with a schema';
    const problems = isForm ? (asked.check?.(content ?? {}) ?? []) : [];
    if (problems.length > 0)
      return `The content does not match the schema of the question:\n${describeProblems(problems)}`;
    this.#settle(request, isForm ? { action, content: content ?? {} } : { action });
    return undefined;
  }

  /** No answer can come any more. */
  close(): void {
    this.#isOver = true;
    for (const id of this.#open.ids) this.#settle(id, cancelled);
  }

  #settle(id: string, answer: ElicitationAnswer): void {
    if (this.#open.settle(id, answer)) this.#post(decisionOn(id, answer));
  }
}

const cancelled: ElicitationAnswer = { action: "cancel" };

/** The values are for the server alone. */
function decisionOn(id: string, { action: decision }: ElicitationAnswer): EventOf<"elicitation.decision"> {
  return { type: "elicitation.decision", id, decision };
}
