import { lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { readRegularFile } from "../../files/read.ts";
import type { SettingsCopy } from "../policy/policy.ts";
import { redactCargoConfig } from "./cargo.ts";
import { redactGhConfig, redactGhHosts } from "./gh.ts";
import { redactNpmrc } from "./npm.ts";
import { redactPipConf } from "./pip.ts";
import type { Redact } from "./redacted.ts";

type Settings = {
  redact: Redact;
  /** The variable that names another file to the tool, or the directory that it is in. */
  variable?: { name: string; names: "file" | "directory" };
};

const npm: Settings = { redact: redactNpmrc, variable: { name: "npm_config_userconfig", names: "file" } };
const pip: Settings = { redact: redactPipConf, variable: { name: "PIP_CONFIG_FILE", names: "file" } };
// CARGO_HOME would move everything else that cargo keeps as well.
const cargo: Settings = { redact: redactCargoConfig };
const gh = (redact: Redact): Settings => ({ redact, variable: { name: "GH_CONFIG_DIR", names: "directory" } });

/**
 * Hidden settings that tools cannot go on without, by their place in a home: npm and pip take a file that they cannot
 * open for one that is not there, and ask the public registry for what a company keeps in its own.
 */
const settings: Readonly<Record<string, Settings>> = {
  ".npmrc": npm,
  ".pip/pip.conf": pip,
  ".config/pip/pip.conf": pip,
  ".cargo/config": cargo,
  ".cargo/config.toml": cargo,
  ".config/gh/config.yml": gh(redactGhConfig),
  ".config/gh/hosts.yml": gh(redactGhHosts),
};

type CopyOptions = {
  /** The home in which tools look for their settings. */
  home: string;
  /** The directory for the copies. */
  directory: string;
  /** As for a policy: all real paths that a rule about a path is about. */
  resolve: (path: string) => readonly string[];
};

export type SettingsCopies = {
  copies: readonly SettingsCopy[];
  /** Files of which none could be made, since what they say cannot be told. */
  unclear: readonly string[];
};

/** Copies of a user's settings that leave out whatever is not known to be harmless. */
export function copySettings({ home, directory, resolve }: CopyOptions): SettingsCopies {
  const copies: SettingsCopy[] = [];
  const unclear: string[] = [];
  for (const [name, { redact, variable }] of Object.entries(settings)) {
    const at = resolve(join(home, name)).findLast(isFile);
    if (at === undefined) continue;
    const redacted = redactedFile(at, redact);
    if (redacted === undefined) {
      unclear.push(at);
      continue;
    }
    const copy = join(directory, name);
    mkdirSync(dirname(copy), { recursive: true, mode: 0o700 });
    writeFileSync(copy, redacted.text, { mode: 0o400 });
    copies.push({ at, copy, isWhole: redacted.isWhole, ...(variable && { variable: leadTo(copy, variable) }) });
  }
  return { copies, unclear };
}

function isFile(path: string): boolean {
  return unlessRefused(() => lstatSync(path).isFile()) ?? false;
}

const mostBytes = 64 * 1024;

function redactedFile(path: string, redact: Redact): ReturnType<Redact> {
  const bytes = unlessRefused(() => readRegularFile(path, mostBytes));
  const text = bytes === undefined || "problem" in bytes ? undefined : decoded(bytes);
  return text === undefined ? undefined : redact(text);
}

function decoded(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(bytes);
  return text.includes("\u{fffd}") || text.includes("\0") ? undefined : text;
}

function leadTo(copy: string, { name, names }: NonNullable<Settings["variable"]>) {
  return { name, value: names === "file" ? copy : dirname(copy) };
}
