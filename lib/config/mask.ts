/**
 * API keys as providers write them, also in the half-masked form of their messages: `sk-proj-****abcd`. In a JSON text
 * one may begin after an escaped line feed, whose letter would seem to belong to it, and in a terminal after a colour.
 */
const keyLike =
  /(?:\b|(?<=\\[bfnrt])|(?<=\[[\d;]{0,20}m))(?:sk|pk|rk|xai|gsk|fw|tgp|key|AIza)[-_*][\w*.-]{6,}|\bAIza[\w-]{20,}|\bBearer\s+[\w.~+/=*-]{6,}/g;

export function maskKeys(text: string): string {
  return text.replace(keyLike, "[key]");
}

/** Masks only a whole argument or a whole part of one: a program called `get-key-for-corp` is not a key. */
export function maskArgument(text: string): string {
  const parts = text.split(/([=:,\s]+)/);
  return parts.map((part) => (maskKeys(part) === "[key]" ? "[key]" : part)).join("");
}

/** `${VAR}`, or `${VAR:-DEFAULT}`. */
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Replaces each `${VAR}` by `value` of its name and default. */
export function expandVariables(text: string, value: (name: string, fallback: string | undefined) => string): string {
  return text.replace(reference, (_, name: string, fallback: string | undefined) => value(name, fallback));
}

export function variablesIn(text: string): string[] {
  return [...text.matchAll(reference)].map(([, name = ""]) => name);
}

/** Masks everything in a header's value but its scheme and references to variables. */
export function maskHeader(value: string): string {
  const scheme = /^(?:Bearer|Basic|Token) /i.exec(value)?.[0] ?? "";
  const rest = value.slice(scheme.length);
  const references = rest.match(/\$\{[A-Za-z_][A-Za-z0-9_]*\}/g) ?? [];
  return references.join("") === rest ? value : `${scheme}***`;
}

/**
 * True for a query parameter that may be printed. Any other may hold a secret, so this is a list of the harmless ones.
 */
export function isPublicParameter(name: string): boolean {
  return /^(?:(?:api[-_]?)?version|deployment|location|model|region)$/i.test(name);
}

/** Masks the values in a URL's query, except those of public parameters. */
export function maskQuery(url: string): string {
  return url.replace(/([?&])([^=&#]+)(=?)[^&#]*/g, (whole, mark: string, name: string, equals: string) =>
    isPublicParameter(name) ? whole : `${mark}${equals === "" ? "" : `${name}=`}***`,
  );
}
