import { formatPath } from "../lib/config/keypath.ts";
import { exitByCode, KodaError } from "../lib/errors.ts";
import type { FleetTask } from "../lib/fleet/task.ts";
import { isDemo } from "../lib/model/demoname.ts";
import { assertModelName, resolveModel } from "../lib/model/resolve.ts";
import { helpRequested, parseArguments } from "./arguments.ts";
import { settingsOf } from "./settings.ts";

/** A budget in money needs the price of each model, before anything is submitted. */
export async function assertPrices(tasks: readonly FleetTask[]): Promise<void> {
  for await (const { choice, context } of choicesOf(tasks)) {
    if (isDemo(choice.model)) continue;
    const { provider, name, price } = (await resolveModel(choice, { ...context, offline: true })).info;
    if (price === undefined) throw noPrice(provider, name);
  }
}

/** A misspelled model would fail each of its tasks on this machine. The run of a task tells of other problems. */
export async function assertModels(tasks: readonly FleetTask[]): Promise<void> {
  try {
    for await (const { choice, context, isTrusted } of choicesOf(tasks))
      if (!isTrusted) await assertModelName(choice, context);
  } catch (error) {
    if (!(error instanceof KodaError) || exitByCode[error.code] === 2) throw error;
  }
}

/** The different models of the tasks, with the configuration of this machine. */
async function* choicesOf(tasks: readonly FleetTask[]) {
  const different = new Map(tasks.map(({ args }) => [args.filter((arg) => choosesModel.test(arg)).join(" "), args]));
  for (const args of different.values()) {
    const options = parseArguments("exec", args);
    if (options === helpRequested) continue;
    const { loaded, endpoint, env, dataDirectory } = await settingsOf(options);
    const { model } = loaded.config;
    const choice = { ...(model !== undefined && { model }), ...endpoint };
    const context = { config: loaded.config, env, writable: [], dataDirectory };
    // The configuration of the project that a task works in may have more providers.
    yield { choice, context, isTrusted: options.trustProject };
  }
}

/** A batch has no --config. */
function noPrice(provider: string, name: string): KodaError {
  const key = formatPath(["providers", provider, "models", name, "price"]);
  return new KodaError(
    "usage",
    `The price of ${provider}/${name} is not known, so the cost of its tasks cannot be limited (--max-cost): set ${key} ` +
      `in config.json, here and where workers run (docs/providers.md), or use --max-tokens`,
  );
}

const choosesModel = /^--(?:(?:model|base-url|api-key-env|wire)=|trust-project$)/;
