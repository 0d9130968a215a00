import { version } from "../package.json";

/**
 * Signs a file with a key of minisign, to FILE.minisig. The signature has the release as its comment and no time, so
 * that signing again makes the same bytes. minisign asks for the key's password, if it has one.
 */
export async function sign(file: string, key: string): Promise<void> {
  if (Bun.which("minisign") === null) throw new Error("There is no minisign on this machine: install minisign");
  const comment = ["-t", `koda ${version}`, "-c", "signature of a release of koda"];
  const child = Bun.spawn(["minisign", "-S", "-s", key, "-m", file, ...comment], {
    stdin: "inherit",
    stdout: "ignore",
    stderr: "inherit",
  });
  if ((await child.exited) !== 0) throw new Error(`minisign could not sign "${file}" with the key "${key}"`);
}
