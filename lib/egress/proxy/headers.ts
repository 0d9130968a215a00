/** Headers that end with a connection (RFC 9110, section 7.6.1). */
const hopByHop = new Set(["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]);

/** Raw headers (name, value, name, value …) without those that end at a proxy, the sender's own ones included. */
export function endToEnd(raw: readonly string[]): string[] {
  const pairs = pairsOf(raw);
  const named = pairs.filter(([name]) => name.toLowerCase() === "connection").flatMap(([, value]) => listed(value));
  const dropped = new Set([...hopByHop, ...named]);
  // The sender cannot take away the header that gives the body's length.
  dropped.delete("content-length");
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase()) && !/^proxy-/i.test(name)).flat();
}

export function without(raw: readonly string[], name: string): string[] {
  return pairsOf(raw)
    .filter(([given]) => given.toLowerCase() !== name)
    .flat();
}

/** The members of a comma-separated header, in lower case. */
export function listed(value: string | undefined): string[] {
  return (value ?? "")
    .split(",")
    .map((member) => member.trim().toLowerCase())
    .filter((member) => member !== "");
}

function pairsOf(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < raw.length; at += 2) pairs.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  return pairs;
}
