import { resolve } from "node:path";
import { isPrintable } from "../lib/config/overrides.ts";
import { shellQuoted } from "../lib/quote.ts";
import { withoutSecrets } from "../lib/model/address.ts";
import { runFlags } from "./flags.ts";
import { rootOf } from "./ground.ts";
import { type ExecOptions, propertyOf } from "./options.ts";

/**
 * The flags of this run that the command line for continuing it repeats: endpoint, permissions, and what its answer has
 * to be. The session keeps the model and its settings; limits and output are up to each command line.
 */
export function resumeFlags(options: ExecOptions): string[] {
  const { baseUrl, cd, config, mcpConfig, outputSchema } = options;
  const repeated = {
    ...options,
    ...(baseUrl !== undefined && { baseUrl: withoutSecrets(baseUrl) }),
    // The line may be run in another directory.
    ...(cd !== undefined && { cd: rootOf(cd) }),
    ...(outputSchema !== undefined && { outputSchema: resolve(outputSchema) }),
    mcpConfig: mcpConfig.map((file) => resolve(file)),
    config: config.filter((set) => isPrintable(set) && !set.startsWith("limits.")),
  };
  return Object.entries(runFlags)
    .filter(([name, { group }]) => group === "Trust" || others.includes(name))
    .flatMap(([name]) => flagWords(name, valueOf(repeated, name)));
}

const others: readonly string[] = [
  "base-url",
  "api-key-env",
  "config",
  "mcp-config",
  "bare",
  "agent",
  "verify",
  "verify-attempts",
  "finish",
  "fail-on",
  "output-schema",
];

function valueOf(options: object, name: string): unknown {
  return Object.entries(options).find(([key]) => key === propertyOf(name))?.[1];
}

function flagWords(name: string, value: unknown): string[] {
  if (value === undefined || value === false) return [];
  if (value === true) return [`--${name}`];
  if (Array.isArray(value)) return value.flatMap((one) => flagWords(name, one));
  const text = String(value);
  return [`--${name}${text.startsWith("-") ? "=" : " "}${quoteIfNeeded(text)}`];
}

/** Quoted only where a shell needs it. */
function quoteIfNeeded(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : shellQuoted(text);
}
