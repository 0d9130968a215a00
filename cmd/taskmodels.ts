import { assertModel } from "../lib/model/resolve.ts";
import type { ExecOptions } from "./options.ts";
import { loadUserConfig } from "./userconfig.ts";

type ModelOptions = Partial<Pick<ExecOptions, "model" | "baseUrl" | "trustProject">>;

/**
 * Refuses the model of tasks that this machine carries out when it knows no provider of it: theirs, or that of the
 * user's own configuration, which must be valid. A project that is trusted may bring providers.
 */
export async function openModelCheck(): Promise<(options: ModelOptions) => Promise<void>> {
  const { env } = process;
  const config = await loadUserConfig();
  const assertKnown = async (model = config.model) => {
    if (model !== undefined) await assertModel(model, { config, env });
  };
  const checked = new Map<string | undefined, Promise<void>>();
  return async ({ model, baseUrl, trustProject = false }) => {
    if (baseUrl !== undefined || trustProject) return;
    const found = checked.get(model) ?? assertKnown(model);
    checked.set(model, found);
    await found;
  };
}

const choosesModel = /^--(?:model|agent|base-url|trust-project)(?:=|$)/;

/** A task that has the model of whoever runs it. */
export function hasNoModel({ args }: { args: readonly string[] }): boolean {
  return !args.some((arg) => choosesModel.test(arg));
}
