import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { asNobody, isRoot } from "./nobody.ts";

/** Not in /tmp, which commands in a sandbox find replaced. */
const reachable = "/var/tmp";

export type Copy = Disposable & { readonly path: string };

/**
 * Tests as nobody run files of the checkout. For one in a directory that only root may enter, as root's home is, this
 * makes a copy where everyone may read it; undefined where none is needed.
 */
export function copyForNobody(checkout: string): Copy | undefined {
  if (!isRoot || Bun.spawnSync([...asNobody, "test", "-x", checkout, "-a", "-r", checkout]).success) return undefined;
  const base = mkdtempSync(join(reachable, "koda-checkout-"));
  const copy = { path: join(base, "koda"), [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }) };
  const script = 'cp -a "$0" "$1" && chmod -R a+rX "$2"';
  const { success, stderr } = Bun.spawnSync(["sh", "-c", script, checkout, copy.path, base]);
  if (success) return copy;
  copy[Symbol.dispose]();
  throw new Error(`The checkout could not be copied to where tests as nobody can read it: ${stderr.toString()}`);
}
