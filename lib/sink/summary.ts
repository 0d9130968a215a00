import { counted } from "../counted.ts";
import type { EventOf } from "../engine/event.ts";
import { builtInProviders } from "../model/providers.ts";
import { dollars, harmless, named, seconds, type Paint } from "./style.ts";

type Start = EventOf<"session.start">;
type End = EventOf<"end">;

/** `koda 0.1.0 · openai/gpt-5.5 · mode auto · sandbox namespaces · /src/app`; an address of the user's own is named. */
export function banner(start: Start, paint: Paint): string {
  const { version, provider, model, base_url: address, mode, sandbox, cwd } = start;
  const isUsual =
    address === null || builtInProviders.some(({ name, baseUrl }) => name === provider && baseUrl === address);
  const facts = [
    `${provider}/${model}${isUsual ? "" : ` at ${address}`}`,
    `mode ${mode}`,
    `sandbox ${sandbox.backend}`,
    cwd,
  ].map(named);
  return `${paint.bold(`koda ${version}`)} ${paint.dim(`· ${facts.join(" · ")}`)}`;
}

/** What makes a run less safe than it may look, and is said even to those who want silence. */
export function warnings({ sandbox }: Start): readonly string[] {
  return sandbox.filesystem === "open" ? sandbox.notes : [];
}

/** How the run ended, and what it took. */
export function summary(end: End, paint: Paint): string {
  const { usage, tools, files_changed: files } = end;
  const calls = tools.ok + tools.failed + tools.denied;
  const figures = [
    seconds(end.duration_ms),
    tokens(usage),
    usage.cost_usd !== undefined && dollars(usage.cost_usd),
    calls > 0 &&
      [
        counted(calls, "call"),
        tools.failed > 0 && `${tools.failed} failed`,
        tools.denied > 0 && `${tools.denied} denied`,
      ]
        .filter(Boolean)
        .join(", "),
    files > 0 && `${counted(files, "file")} changed`,
  ].filter(Boolean);
  const reason = end.error ? ` (${end.error.code}, exit ${end.exit})` : "";
  const mark = end.status === "done" ? paint.green("✓ done") : paint.red(`✗ ${end.status}${reason}`);
  return `${mark} ${paint.dim(`· ${figures.join(" · ")}`)}`;
}

/** Why the run did not end well, and what to do about it. */
export function complaint({ message }: NonNullable<End["error"]>, paint: Paint): string {
  return `${paint.red("koda:")} ${harmless(message)}`;
}

/** `12,345 in (10,000 cached), 678 out`; what the provider did not report is left out. */
function tokens({ input, cached, output }: End["usage"]): string {
  const parts = [
    input !== null && `${input.toLocaleString("en")} in${cached ? ` (${cached.toLocaleString("en")} cached)` : ""}`,
    output !== null && `${output.toLocaleString("en")} out`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `tokens: ${parts.join(", ")}`;
}
