import { formatPath } from "../lib/config/keypath.ts";
import { KodaError } from "../lib/errors.ts";
import type { FleetTask } from "../lib/fleet/task.ts";
import { isDemo } from "../lib/model/demoname.ts";
import { resolveModel } from "../lib/model/resolve.ts";
import { helpRequested, parseArguments } from "./arguments.ts";
import { settingsOf } from "./settings.ts";

/** A budget in money needs the price of each model, before anything is submitted. */
export async function assertPrices(tasks: readonly FleetTask[]): Promise<void> {
  const different = new Map(tasks.map(({ args }) => [args.filter((arg) => choosesModel.test(arg)).join(" "), args]));
  for (const args of different.values()) {
    const options = parseArguments("exec", args);
    if (options === helpRequested) continue;
    const { loaded, endpoint, env, dataDirectory } = await settingsOf(options);
    const { model } = loaded.config;
    if (isDemo(model)) continue;
    const choice = { ...(model !== undefined && { model }), ...endpoint };
    const context = { config: loaded.config, env, offline: true, writable: [], dataDirectory };
    const { provider, name, price } = (await resolveModel(choice, context)).info;
    if (price === undefined) throw noPrice(provider, name);
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

const choosesModel = /^--(?:model|base-url|api-key-env|wire)=/;
