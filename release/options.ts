import { parseArgs } from "node:util";
import { formats } from "./compress.ts";
import { targetOf, targets } from "./targets.ts";

/** The command line of `npm run release`. */
export function releaseOptions() {
  const { values } = parseArgs({
    options: {
      target: { type: "string", multiple: true, default: [...targets] },
      format: { type: "string", multiple: true, default: ["tar.xz", "tar.gz", "deb", "npm"] },
      base: { type: "string" },
      key: { type: "string" },
      "public-key": { type: "string" },
    },
  });
  const { target, format, base, key, "public-key": publicKey } = values;
  if ((key === undefined) !== (publicKey === undefined)) throw new Error("--key and --public-key belong together");
  const known: readonly string[] = [...formats, "deb", "npm"];
  const unknown = format.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`Unknown format "${unknown}": expected one of ${known.join(", ")}`);
  return {
    targets: target.map(targetOf),
    archives: formats.filter((name) => format.includes(name)),
    hasDeb: format.includes("deb"),
    hasNpm: format.includes("npm"),
    base,
    key,
    publicKey,
  };
}
