import { harmlessValue, mayHoldSecrets, type Redact, words } from "./redacted.ts";

/** Behaviour of npm, pnpm and yarn, and their registries; all keys of a `//host/` are about logging in. */
const harmless = new Set(
  words(`
    registry proxy https-proxy http-proxy noproxy strict-ssl ca ca[] cafile maxsockets network-concurrency
    fetch-retries fetch-retry-factor fetch-retry-mintimeout fetch-retry-maxtimeout fetch-timeout
    prefer-offline prefer-online offline cache prefix store-dir virtual-store-dir modules-dir global-style
    ignore-scripts before min-release-age minimum-release-age minimum-release-age-exclude[] allow-scripts
    engine-strict save save-exact save-prefix package-lock package-lock-only lockfile shrinkwrap
    legacy-peer-deps strict-peer-deps strict-peer-dependencies auto-install-peers dedupe-peer-dependents
    peer-legacy-deps install-links install-strategy omit omit[] include include[] production optional
    node-linker hoist hoist-pattern hoist-pattern[] public-hoist-pattern public-hoist-pattern[] shamefully-hoist
    shared-workspace-lockfile link-workspace-packages prefer-workspace-packages save-workspace-protocol
    resolution-mode side-effects-cache package-import-method use-node-version manage-package-manager-versions
    audit audit-level fund update-notifier loglevel progress color unicode timing foreground-scripts
    access tag tag-version-prefix sign-git-tag workspaces-update bin-links rebuild-bundle replace-registry-host
  `),
);

const registryOfScope = /^@[\w.~-]+:registry$/;

/** `.npmrc`: npm reads it as ini, and looks at nothing in a section. */
export const redactNpmrc: Redact = (text) => {
  const kept: string[] = [];
  let isWhole = true;
  for (const line of text.split(/\r\n|\r|\n/).map((each) => each.trim())) {
    if (line.startsWith("[")) return { text: ended(kept), isWhole: false };
    if (/^([;#]|$)/.test(line)) {
      isWhole &&= !mayHoldSecrets(line);
      continue;
    }
    const { key, value } = settingIn(line);
    if (!harmless.has(key) && !registryOfScope.test(key)) {
      isWhole = false;
      continue;
    }
    const shown = value === undefined ? { value: "true", isWhole: true } : shownValue(value);
    if (shown === undefined) return undefined;
    isWhole &&= shown.isWhole;
    kept.push(`${key} = ${shown.value}`);
  }
  return { text: ended(kept), isWhole };
};

function settingIn(line: string): { key: string; value: string | undefined } {
  const equals = line.indexOf("=");
  if (equals === -1) return { key: unquoted(line), value: undefined };
  return { key: unquoted(line.slice(0, equals).trim()), value: line.slice(equals + 1).trim() };
}

const certificate = /^-----BEGIN CERTIFICATE-----[A-Za-z\d+/=\s]+-----END CERTIFICATE-----\s*$/;

function shownValue(written: string): { value: string; isWhole: boolean } | undefined {
  const value = unquoted(written);
  if (certificate.test(value.replaceAll("\\n", "\n"))) return { value: JSON.stringify(value), isWhole: true };
  const shown = harmlessValue(value);
  if (shown === undefined) return undefined;
  // A comment may stand behind the value.
  const isWhole = shown.isWhole && !mayHoldSecrets(written.replace(value, ""));
  return { value: /^[\w${}:/.~^*@,+-]*$/.test(shown.value) ? shown.value : JSON.stringify(shown.value), isWhole };
}

/** As npm reads it: in quotes, or up to a comment. */
function unquoted(text: string): string {
  if (/^'.*'$/.test(text)) return text.slice(1, -1);
  if (/^".*"$/.test(text)) {
    try {
      return String(JSON.parse(text));
    } catch {
      // npm takes the text as it is then.
      return text;
    }
  }
  return text.replace(/(?<!\\)[;#].*$/, "").trim();
}

function ended(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
