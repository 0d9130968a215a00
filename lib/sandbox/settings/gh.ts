import { isRecord, type JsonRecord } from "../../config/json.ts";
import { mayHoldSecrets, parsedBy, type Redact, words } from "./redacted.ts";

/** Of `config.yml`; programs that gh would start are left out. */
const ofProgram = new Set(
  words(`version git_protocol prompt prefer_editor_prompt spinner color_labels accessible_colors accessible_prompter`),
);
/** Of each host in `hosts.yml`; its token lies beside them when there is no keyring. */
const ofHost = new Set(words(`git_protocol user`));

export const redactGhConfig: Redact = (text) => redacted(text, (settings) => only(settings, ofProgram));

export const redactGhHosts: Redact = (text) =>
  redacted(text, (hosts) =>
    Object.fromEntries(
      Object.entries(hosts).map(([host, settings]) => [
        host,
        { ...only(settings, ofHost), users: accountsOf(settings) },
      ]),
    ),
  );

/** Without an account for each host gh would rewrite the file, which it cannot. */
function accountsOf(settings: unknown): Record<string, object> {
  const users = isRecord(settings) && isRecord(settings.users) ? Object.keys(settings.users) : [];
  return Object.fromEntries(users.map((name) => [name, {}]));
}

function redacted(text: string, choose: (settings: JsonRecord) => unknown): ReturnType<Redact> {
  const settings = parsedBy(Bun.YAML.parse, text);
  const isWhole = !mayHoldSecrets(text.replaceAll(/\busers?:/g, ""));
  if (settings === null) return { text: "", isWhole };
  // YAML reads JSON too.
  return isRecord(settings) ? { text: `${JSON.stringify(choose(settings), null, 2)}\n`, isWhole } : undefined;
}

function only(settings: unknown, names: ReadonlySet<string>): Record<string, unknown> {
  if (!isRecord(settings)) return {};
  return Object.fromEntries(Object.entries(settings).filter(([name, value]) => names.has(name) && isShort(value)));
}

function isShort(value: unknown): boolean {
  return typeof value === "number" || (typeof value === "string" && value.length < 100);
}
