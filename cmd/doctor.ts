import type { ProviderConfig } from "../lib/config/config.ts";
import { type ConfigLine, describeConfig } from "../lib/config/describe.ts";
import { formatPath } from "../lib/config/keypath.ts";
import type { Env } from "../lib/config/paths.ts";
import { withoutSecrets } from "../lib/model/address.ts";
import { providersOf } from "../lib/model/configured.ts";
import { keyOf } from "../lib/model/key.ts";
import type { Provider } from "../lib/model/providers.ts";
import { openPaint, plain, wantsColor, type Paint } from "../lib/sink/style.ts";
import { checkAll, type DoctorCheck } from "./checks.ts";
import { describeRefusals, latestRefusals } from "./egresscheck.ts";
import { type CurrentProject, currentProject, projectConfig } from "./project.ts";
import { isTerminal } from "./terminal.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";
import type { Stopper } from "./signals.ts";
import { tableOf } from "./table.ts";

/** `koda doctor`: exit 0 when a run in this directory would start, else 1. */
export async function doctor(options: CommandOptions<"doctor">, { controller }: Stopper): Promise<number> {
  const { json, config, configSchema } = options;
  if (configSchema) return await printSchema();
  const project = currentProject(options);
  if (config) return await showConfig(project, json);

  const checks = await checkAll(project, controller.signal);
  const ok = checks.every(({ status }) => status !== "fail");
  const paint = openPaint(wantsColor("auto", await isTerminal(1), process.env));
  const refusals = latestRefusals(project);
  const lines = checks.map((check) => describe(withReference(check, checks), paint)).join("");
  await print(json ? asJson({ ok, checks, refusals }) : `${lines}${describeRefusals(refusals)}\n${verdict(checks)}\n`);
  return ok ? 0 : 1;
}

async function printSchema(): Promise<number> {
  const { configJsonSchema } = await import("../lib/config/jsonschema.ts");
  await print(asJson(configJsonSchema()));
  return 0;
}

/** `koda doctor --config`: each effective value and its origin, without keys. */
async function showConfig(project: CurrentProject, json: boolean): Promise<number> {
  const loaded = await projectConfig(project);
  const { providers } = loaded.config;
  const fromVariables = providersOf(providers, project.env).flatMap((row) =>
    variableLines(row, project.env, providers.get(row.name)),
  );
  const replaced = new Set(fromVariables.map(({ key }) => key));
  const lines = [...describeConfig(loaded).filter(({ key }) => !replaced.has(key)), ...fromVariables];
  const rows = lines.map(({ key, value, origin }) => [key, JSON.stringify(value) ?? "", origin]);
  await print(json ? asJson(lines) : plain(tableOf([["KEY", "VALUE", "FROM"], ...rows])));
  return 0;
}

/** The base URL of a provider's variable, and the name of the variable with its key. */
function variableLines(provider: Provider, env: Env, configured: ProviderConfig | undefined): ConfigLine[] {
  const { name, baseUrl, baseUrlVariable } = provider;
  const at = (key: string) => formatPath(["providers", name, key]);
  const variable = keyOf(provider, env)?.variable;
  return [
    ...lineFrom(baseUrlVariable, { key: at("base_url"), value: withoutSecrets(baseUrl) }),
    ...lineFrom(variable === configured?.apiKeyEnv ? undefined : variable, { key: at("api_key_env"), value: variable }),
  ];
}

function lineFrom(variable: string | undefined, line: Omit<ConfigLine, "origin">): ConfigLine[] {
  return variable === undefined ? [] : [{ ...line, origin: `environment ${variable}` }];
}

/** One fault may keep several checks from their work. */
function withReference(check: DoctorCheck, checks: readonly DoctorCheck[]): DoctorCheck {
  const first = checks.find(({ status, message }) => status === "fail" && message === check.message);
  if (first === undefined || first.name === check.name) return check;
  const { fix: _, ...rest } = check;
  return { ...rest, message: `not checked: see ${first.name}` };
}

function describe({ name, status, message, fix }: DoctorCheck, paint: Paint): string {
  const marks = { ok: paint.green("✓"), warn: paint.yellow("!"), fail: paint.red("✗") } as const;
  const [first = "", ...rest] = plain(message).split("\n");
  const margin = " ".repeat(nameWidth + 3);
  const more = [...rest, ...(fix === undefined ? [] : [`fix: ${plain(fix)}`])]
    .map((line) => `${margin}${line}\n`)
    .join("");
  return `${marks[status]} ${name.padEnd(nameWidth)} ${first}\n${more}`;
}

/** `A run would fail here: see model, sandbox` */
function verdict(checks: readonly DoctorCheck[]): string {
  const namesOf = (status: DoctorCheck["status"]) => [
    ...new Set(checks.filter((check) => check.status === status).map(({ name }) => name)),
  ];
  const [failed, warned] = [namesOf("fail"), namesOf("warn")];
  if (failed.length > 0) return `✗ A run would fail here: see ${failed.join(", ")}`;
  return warned.length > 0 ? `! A run works here; see ${warned.join(", ")}` : "✓ A run works here";
}

const nameWidth = "temporary files".length;
