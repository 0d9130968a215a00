import type { Claim } from "../trust/claim.ts";
import { deniedByEgress } from "./refusal.ts";
import { failed, inputOf, type Tool, type ToolContext, type ToolResult } from "./tool.ts";
import about from "./webfetch.md" with { type: "text" };

type Input = { url: string; raw?: boolean };
type Context = Pick<ToolContext, "call" | "signal" | "egress" | "outputs">;

const input = inputOf({ url: { type: "string" }, raw: { type: "boolean" } }, ["url"]);

/** Not only reading: the words of an address leave this machine. */
const claim = (): Claim => ({ effect: "remote", writes: [] });

export const webFetchTool = {
  name: "WebFetch",
  about,
  input,
  claim,
  again: ["read", "remote"],
  run,
} satisfies Tool<Input>;

async function run(
  { url: given, raw = false }: Input,
  { call, signal, egress, outputs }: Context,
): Promise<ToolResult> {
  signal.throwIfAborted();
  const { fetchPage } = await import("./web/fetch.ts");
  const { parseUrl, formatUrl } = await import("./web/url.ts");
  const { FetchFailure } = await import("./web/failure.ts");
  const url = parseUrl(given);
  if ("fault" in url) return failed(`Cannot fetch: ${url.fault}.`);
  try {
    const page = await fetchPage(url, { egress, signal });
    const { present } = await import("./web/present.ts");
    return await present(page, { call, outputs, raw });
  } catch (error) {
    if (!(error instanceof FetchFailure)) throw error;
    if (error.denied) return deniedByEgress(error.message);
    return failed(`Cannot fetch "${formatUrl(url)}": ${error.message}.`);
  }
}
