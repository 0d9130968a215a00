import { asJson, print } from "./print.ts";
import { version } from "./version.ts";

declare const KODA_COMMIT: string | null | undefined;
declare const KODA_MODIFIED: boolean | undefined;
declare const KODA_TARGET: string | undefined;

/** `koda --version --json`: what this program was built from, and the hash of its own file. */
export async function printIdentity(): Promise<number> {
  const isBuilt = typeof KODA_TARGET === "string";
  await print(
    asJson({
      version,
      commit: typeof KODA_COMMIT === "string" ? KODA_COMMIT : null,
      build: { bun: Bun.version, modified: typeof KODA_MODIFIED === "boolean" ? KODA_MODIFIED : null },
      target: isBuilt ? KODA_TARGET : null,
      sha256: isBuilt ? await hashOf("/proc/self/exe") : null,
    }),
  );
  return 0;
}

async function hashOf(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const bytes of Bun.file(path).stream()) hash.update(bytes);
  return hash.digest("hex");
}
