import { readFileSync } from "node:fs";

type Installing = {
  version: string;
  /** The address below which releases lie, each in `vVERSION`. */
  base: string | undefined;
  /** The file of minisign's public key. */
  publicKey: string | undefined;
};

/** install.sh with the release that it installs by itself. */
export function installScript({ version, base, publicKey }: Installing): string {
  const values = {
    default_version: version,
    default_base: base ?? "",
    public_key: publicKey === undefined ? "" : readFileSync(publicKey, "utf8").trim().split("\n").at(-1),
  };
  let script = readFileSync("install.sh", "utf8");
  for (const [name, value = ""] of Object.entries(values)) {
    if (!/^[\w.:/+=~-]*$/.test(value))
      throw new Error(`Cannot write "${value}" into install.sh: expected one plain word`);
    const written = script.replace(new RegExp(`^${name}=$`, "m"), `${name}=${value}`);
    if (value !== "" && written === script) throw new Error(`install.sh has no line "${name}="`);
    script = written;
  }
  return script;
}
