import type { StopReason } from "@agentclientprotocol/sdk";
import type { SubmissionReply } from "../chat/reply.ts";
import { type ErrorCode, KodaError } from "../errors.ts";

const reasons: Partial<Record<ErrorCode, StopReason>> = {
  max_turns: "max_turn_requests",
  max_tokens: "max_tokens",
  max_output: "max_tokens",
  content_policy: "refusal",
};

/** How a prompt ended. What the protocol has no word for is an error. */
export function stopReasonOf({ status, error }: SubmissionReply): StopReason {
  if (status === "done") return "end_turn";
  if (status === "cancelled") return "cancelled";
  const reason = error && reasons[error.code];
  if (reason === undefined) throw errorOf(error);
  return reason;
}

/** The failure of a submission, or of a whole chat. */
export function errorOf(error: SubmissionReply["error"]): KodaError {
  const { code = "internal", message = "koda has stopped", retryable = false } = error ?? {};
  return new KodaError(code, message, { retryable });
}
