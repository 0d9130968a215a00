import type { Host } from "../conversation/host.ts";
import { Approvals } from "../conversation/approvals.ts";
import { Elicitations } from "../conversation/elicitations.ts";
import { PendingApprovals } from "../conversation/pendingapprovals.ts";
import { UserQuestions } from "../conversation/userquestions.ts";
import type { Event } from "../engine/event.ts";
import type { ChatSettings } from "./chatconversation.ts";
import type { SubmissionOf } from "./submission.ts";

type QuestionOptions = {
  clocks: Host["clocks"];
  post: (event: Event) => void;
  /** Ends the turn. */
  abort: () => void;
  /** Saves the start of a command that needs no approval from now on; undefined when the user cannot be asked. */
  remember: ((prefix: string) => Promise<void>) | undefined;
  /** Questions can be answered. */
  canAnswer: boolean;
};

/** The questions of a chat to its user: about calls and hosts, for text, and those of MCP servers. */
export class ChatQuestions {
  /** The sides of a conversation that ask. */
  readonly askers: Pick<ChatSettings, "approvals" | "questions" | "elicit">;
  readonly #approvals: PendingApprovals;
  readonly #questions: UserQuestions | undefined;
  readonly #elicitations: Elicitations | undefined;

  constructor({ clocks, post, abort, remember, canAnswer }: QuestionOptions) {
    const options = { post, abort, waits: () => clocks.pauseIdle() };
    this.#approvals = new PendingApprovals(options);
    this.#questions = canAnswer ? new UserQuestions(options) : undefined;
    this.#elicitations = canAnswer ? new Elicitations(options) : undefined;
    const approvals = new Approvals(remember && { pending: this.#approvals, post, remember });
    this.askers = { approvals, questions: this.#questions, elicit: this.#elicitations?.ask };
  }

  /** Returns why it is no answer. */
  answer(answer: SubmissionOf<"approve" | "answer" | "elicit">): string | undefined {
    if (answer.op === "approve") return this.#approvals.decide(answer.call, answer.decision, answer.feedback);
    if (this.#questions === undefined || this.#elicitations === undefined) return "No question is open";
    if (answer.op === "answer") return this.#questions.answer(answer.question, answer.text);
    return this.#elicitations.answer(answer);
  }

  /** The turn is over: what is asked about is denied. Questions of servers end with their calls. */
  withdraw(reason: string): void {
    this.#approvals.denyAll(reason);
    this.#questions?.withdraw();
  }

  /** No answer can come any more. */
  close(reason: string): void {
    this.#approvals.end(reason);
    this.#questions?.close();
    this.#elicitations?.close();
  }
}
