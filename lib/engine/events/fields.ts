import { z } from "zod";
import { exitByCode } from "../../errors.ts";
import { effects } from "../../trust/claim.ts";

const count = z.int().nonnegative();

const figures = z.strictObject({
  input: count.nullable().describe("Tokens of the input"),
  cached: count.nullable().describe("The part of `input` that was read from the provider's prompt cache"),
  written: z
    .exactOptional(count)
    .describe("The part of `input` that was written to that cache; absent when it is not reported"),
  output: count.nullable().describe("Tokens of the output"),
  reasoning: count.nullable().describe("The part of `output` that was thinking"),
});

const effect = z.enum(effects).describe("What the call may do: only read, write, reach others, or destroy");

const failure = z.strictObject({
  code: z.enum(Object.keys(exitByCode) as [keyof typeof exitByCode]).describe("The kind of failure, for scripts"),
  message: z.string().describe("The failure in words, with what to do"),
  retryable: z.boolean().describe("Whether the same request may work later"),
  http_status: count.optional().describe("The status of the provider's response"),
  retry_at: z.iso.datetime().optional().describe("When the limit that was reached resets, if the provider says so"),
});

const server = z.strictObject({
  name: z.string().describe("The name of the MCP server"),
  status: z.enum(["connected", "connecting", "failed", "disabled"]).describe("Its state"),
  error: z.string().optional().describe("Why it failed"),
});

const stream = z.enum(["stdout", "stderr"]).describe("Where it was written");

const written = z.string().describe("The next piece");

/** The end of a command or of another call. */
const ending = {
  exit_code: z.int().optional().describe("The exit code of the command"),
  signal: z.string().optional().describe("The signal that ended it"),
  timed_out: z.boolean().optional().describe("Whether it was stopped at its time limit"),
  duration_ms: z.number().nonnegative().describe("How long it took"),
  hint: z.string().optional().describe("The reason why the sandbox made a command fail, with the flag that allows it"),
  summary: z.string().describe("The result as the model saw it"),
  output_id: z.string().optional().describe("The stored output, for `RecallContext` and `koda session show`"),
};

/** The fields that several events have. */
export const eventFields = { count, figures, effect, failure, server, stream, written, ending } as const;
