import { formatElapsed } from "../config/units.ts";
import { counted, withCommas } from "../counted.ts";
import type { EventOf } from "../engine/event.ts";
import { builtInProviders } from "../model/providers.ts";
import { visibleMessage } from "../visible.ts";
import { dollars, inline, type Paint } from "./style.ts";

type Start = EventOf<"session.start">;
type End = EventOf<"end">;

/** `koda 0.1.0 · openai/gpt-5.5 · mode auto · sandbox namespaces · /src/app`; an unusual base URL is included. */
export function banner(start: Start, paint: Paint): string {
  const { version, provider, model, base_url: baseUrl, agent, mode, sandbox, cwd } = start;
  const isUsual = baseUrl === null || builtInProviders.some((row) => row.name === provider && row.baseUrl === baseUrl);
  const facts = [
    `${provider}/${model}${isUsual ? "" : ` at ${baseUrl}`}`,
    ...(agent === undefined ? [] : [`agent ${agent}`]),
    `mode ${mode}`,
    `sandbox ${sandbox.backend}`,
    cwd,
  ].map(inline);
  return `${paint.bold(`koda ${version}`)} ${paint.dim(`· ${facts.join(" · ")}`)}`;
}

/** Warnings that the run is less safe than it may look; shown even with --quiet. */
export function warnings({ sandbox }: Start): readonly string[] {
  return sandbox.filesystem === "open" ? sandbox.notes : [];
}

/** The reason of a retry, and when it comes. */
export function retryLine({ reason, attempt, max, delay_ms: delay }: EventOf<"retry">, paint: Paint): string {
  return paint.yellow(`↻ ${inline(reason)}`) + paint.dim(`; retry ${attempt} of ${max} in ${formatElapsed(delay)}`);
}

/** The outcome of the run, with its duration, tokens and calls. */
export function summary(end: End, paint: Paint): string {
  const { usage, tools, files_changed: files, verify, agents } = end;
  const calls = tools.ok + tools.failed + tools.denied;
  const figures = [
    formatElapsed(end.duration_ms),
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
    agents !== undefined && agentsOf(agents),
    files > 0 && `${counted(files, "file")} changed`,
    verify?.passed === true && "verified",
  ].filter(Boolean);
  const reason = end.error ? ` (${end.error.code}, exit ${end.exit})` : "";
  const mark = end.status === "done" ? paint.green("✓ done") : paint.red(`✗ ${end.status}${reason}`);
  return `${mark} ${paint.dim(`· ${figures.join(" · ")}`)}`;
}

/** `3 agents, 1 failed`. */
function agentsOf({ ok, failed, cancelled }: NonNullable<End["agents"]>): string {
  const bad = [failed > 0 && `${failed} failed`, cancelled > 0 && `${cancelled} cancelled`];
  return [counted(ok + failed + cancelled, "agent"), ...bad].filter(Boolean).join(", ");
}

const mostExecutable = 5;

/** The changed files to review before other programs run them; undefined when there are none. */
export function executableLine({ executable_changes: changes }: End): string | undefined {
  if (changes.length === 0) return undefined;
  const some = changes.slice(0, mostExecutable).map(({ path }) => inline(path));
  const rest = changes.length - some.length;
  const more = rest > 0 ? ` and ${counted(rest, "more file")}` : "";
  return `Review before other programs run them: ${some.join(", ")}${more}`;
}

type Told = Pick<NonNullable<End["error"]>, "message" | "retry_at">;

export function errorLine({ message, retry_at: retryAt }: Told, paint: Paint): string {
  const retry = retryAt === undefined ? "" : ` (try again at ${retryAt})`;
  return `${paint.red("koda:")} ${visibleMessage(message)}${retry}`;
}

/** `tokens: 12,345 in (10,000 cached), 678 out`; unreported counts are left out. */
export function tokens({ input, cached, output }: End["usage"]): string {
  const parts = [
    input !== null && `${withCommas(input)} in${cached ? ` (${withCommas(cached)} cached)` : ""}`,
    output !== null && `${withCommas(output)} out`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `tokens: ${parts.join(", ")}`;
}
