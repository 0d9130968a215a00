import type { PlacedFinding } from "./findings.ts";

/**
 * One fingerprint for each finding: the same in the next review, also when lines above have moved or another model has
 * chosen other words. It is made of the file and the text of the first line, and counts those that are alike.
 */
export function fingerprintsOf(findings: readonly PlacedFinding[]): readonly string[] {
  const counts = new Map<string, number>();
  const inOrder = [...findings].sort((a, b) => a.start_line - b.start_line);
  const prints = new Map(
    inOrder.map((finding) => {
      const hash = hashOf(finding);
      const count = (counts.get(hash) ?? 0) + 1;
      counts.set(hash, count);
      return [finding, `${hash}:${count}`];
    }),
  );
  return findings.map((finding) => prints.get(finding) ?? "");
}

function hashOf({ path, text }: PlacedFinding): string {
  const plain = text.replace(/\s+/g, " ").trim();
  return new Bun.CryptoHasher("sha256")
    .update(JSON.stringify([path, plain]))
    .digest("hex")
    .slice(0, 16);
}
