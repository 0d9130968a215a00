import type { FleetTask } from "../lib/fleet/task.ts";
import { assertPriced } from "../lib/model/catalog.ts";
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
    assertPriced((await resolveModel(choice, context)).info);
  }
}

const choosesModel = /^--(?:model|base-url|api-key-env|wire)=/;
