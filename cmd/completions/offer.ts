import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { configDirectory, databaseFile } from "../../lib/config/paths.ts";
import { counted } from "../../lib/counted.ts";
import { KodaError } from "../../lib/errors.ts";
import { catalogModels } from "../../lib/model/catalog.ts";
import { isReady, providersOf } from "../../lib/model/configured.ts";
import { readWithoutTrace } from "../../lib/session/database.ts";
import { oneLine } from "../../lib/sink/style.ts";
import { currentProject, projectConfig } from "../project.ts";
import { print } from "../print.ts";
import { type DynamicCompletion, dynamicCompletions } from "../values.ts";

type Offer = readonly [value: string, about: string];

/**
 * `koda __complete KIND`, for the completion scripts: one value a line, then a tab and a description. It writes
 * nothing, sends no request and never fails: an error would disturb the command line that is being typed.
 */
export async function printCompletions(kind: string | undefined): Promise<number> {
  const known = dynamicCompletions.find((name) => name === kind);
  const offers = known === undefined ? [] : await sources[known]().catch((): Offer[] => []);
  const lines = offers.map(([value, about]) => `${value}${about === "" ? "" : `\t${oneLine(about, 60)}`}\n`);
  await print(lines.join("")).catch((error: unknown) => {
    if (!(error instanceof KodaError)) throw error;
  });
  return 0;
}

const sources: Readonly<Record<DynamicCompletion, () => Promise<readonly Offer[]>>> = {
  models,
  providers,
  sessions,
  tools,
  servers,
  agents,
  batches,
};

/** The models of every provider that is configured or has a key. */
async function models(): Promise<Offer[]> {
  const project = currentProject({ trustProject: false });
  const { config } = await projectConfig(project);
  const usable = providersOf(config.providers, project.env).filter((provider) =>
    isReady(provider, config.providers, project.env),
  );
  const names = await Promise.all(
    usable.map(async (provider) => {
      const described = config.providers.get(provider.name)?.models.keys() ?? [];
      const usual = provider.model === undefined ? [] : [provider.model];
      const all = new Set([...usual, ...described, ...(await catalogModels(provider))]);
      return [...all].map((name): Offer => [`${provider.name}/${name}`, name === provider.model ? "the default" : ""]);
    }),
  );
  return [...names.flat(), ["demo", "scripted, needs no key and no network"]];
}

/** All that can be named, with the variable for the key of each. */
async function providers(): Promise<Offer[]> {
  const project = currentProject({ trustProject: false });
  const { config } = await projectConfig(project);
  return providersOf(config.providers, project.env).map(({ name, keys }) => [name, keys.join(" or ")]);
}

/** Latest first. */
async function sessions(): Promise<Offer[]> {
  const path = databaseFile({ env: process.env, home: homedir() });
  if (!existsSync(path)) return [];
  // Databases of earlier versions have no column for the agent: there it is that of the other table.
  const sql = `SELECT id, title FROM session NATURAL LEFT JOIN (SELECT NULL AS agent)
    WHERE length > 0 AND agent IS NULL ORDER BY updated_at DESC, id DESC LIMIT 200`;
  return readWithoutTrace<{ id: string; title: string }>(path, sql).map(({ id, title }) => [id, title]);
}

/** Those of koda's own database, latest first: another store is asked nothing while a line is typed. */
async function batches(): Promise<Offer[]> {
  const path = databaseFile({ env: process.env, home: homedir() });
  if (!existsSync(path)) return [];
  const sql = "SELECT id, total, state FROM batch ORDER BY submitted_at DESC, id DESC LIMIT 200";
  const rows = readWithoutTrace<{ id: string; total: number; state: string }>(path, sql);
  return rows.map(({ id, total, state }) => [id, `${counted(total, "task")}, ${state}`]);
}

async function tools(): Promise<Offer[]> {
  const { ownToolNames } = await import("../../lib/conversation/skilltools.ts");
  return ownToolNames.map((name) => [name, ""]);
}

/** Those of the user's configuration. */
async function servers(): Promise<Offer[]> {
  const { config } = await projectConfig(currentProject({ trustProject: false }));
  return [...config.mcp.servers.keys()].map((name) => [name, ""]);
}

/** Those of the user's own files, and those that are built in. */
async function agents(): Promise<Offer[]> {
  const project = currentProject({ trustProject: false });
  const { definitionsFor } = await import("../../lib/conversation/definitions.ts");
  const loaded = await projectConfig(project);
  const settings = { ...project, bare: false, loaded, configDirectory: configDirectory(project) };
  const { byName } = definitionsFor(settings, { hide: [] }).agents;
  return [...byName.values()].map(({ name, description }) => [name, description]);
}
