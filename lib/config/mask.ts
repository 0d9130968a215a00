/** A key as providers write them, and the half-hidden form in which they repeat one: `sk-proj-****abcd`. */
const keyLike = /\b(?:sk|pk|rk|xai|gsk|fw|tgp|key|AIza)[-_*][\w*.-]{6,}|\bAIza[\w-]{20,}|\bBearer\s+[\w.~+/=*-]{6,}/g;

export function maskKeys(text: string): string {
  return text.replace(keyLike, "[key]");
}

/** A command's argument; a program called `get-key-for-corp` is not a key. */
export function maskArgument(text: string): string {
  const parts = text.split(/([=:,\s]+)/);
  return parts.map((part) => (maskKeys(part) === "[key]" ? "[key]" : part)).join("");
}

/** `${VAR}`, or `${VAR:-DEFAULT}` for when it is not set. */
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** The text with each `${VAR}` replaced by what `value` gives for its name and default. */
export function expandVariables(text: string, value: (name: string, fallback: string | undefined) => string): string {
  return text.replace(reference, (_, name: string, fallback: string | undefined) => value(name, fallback));
}

export function variablesIn(text: string): string[] {
  return [...text.matchAll(reference)].map(([, name = ""]) => name);
}

/** A header's value as others may see it: references to variables and the name of a scheme, but nothing literal. */
export function maskHeader(value: string): string {
  const scheme = /^(?:Bearer|Basic|Token) /i.exec(value)?.[0] ?? "";
  const rest = value.slice(scheme.length);
  const references = rest.match(/\$\{[A-Za-z_][A-Za-z0-9_]*\}/g) ?? [];
  return references.join("") === rest ? value : `${scheme}***`;
}

/**
 * True for a query parameter that messages and command lines may repeat. Any other may hold a secret, so these are
 * listed and secrets are not.
 */
export function isPublicParameter(name: string): boolean {
  return /^(?:(?:api[-_]?)?version|deployment|location|model|region)$/i.test(name);
}

/** An address whose query shows its names and the values of public parameters, but no other value. */
export function maskQuery(address: string): string {
  return address.replace(/([?&])([^=&#]+)(=?)[^&#]*/g, (whole, mark: string, name: string, equals: string) =>
    isPublicParameter(name) ? whole : `${mark}${equals === "" ? "" : `${name}=`}***`,
  );
}
