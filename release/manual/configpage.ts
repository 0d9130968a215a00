import { typedKeys } from "../../lib/config/schema.ts";
import { environmentSection, filesSection } from "./commandpage.ts";
import * as roff from "./roff.ts";

/** koda-config(5): every key with its type and default. */
export function configPage(stamp: roff.Stamp): string {
  return `${[
    roff.title("koda-config", 5, stamp),
    roff.heading("Name", "koda\\-config \\- the configuration of koda"),
    roff.heading(
      "Description",
      roff.paragraphs(
        "koda needs no configuration: a key in the environment and a prompt are enough. Both files are JSON with comments and trailing commas; an unknown key is an error that names the file and the key.",
        "The highest of these wins: a flag, an environment variable, the project's file, your file, the default. A project's file can only tighten settings, unless --trust-project is given. --config KEY=VALUE sets a key for one run: the value is JSON, and a bare word is a string.",
        "In the names of keys, NAME is a name of your choice. A dot separates objects: limits.max_turns is max_turns in the object limits. Relative paths start in the project, and ~/ is your home.",
        "koda doctor --config shows each effective value and where it comes from; koda doctor --config-schema prints a JSON Schema for editors.",
      ),
    ),
    roff.heading("Keys", roff.list(keyEntries())),
    environmentSection,
    filesSection,
    roff.heading("Examples", example),
    roff.heading("See also", [roff.reference("koda", 1), roff.reference("koda-doctor", 1)].join(",\n")),
  ].join("\n")}\n`;
}

function keyEntries(): roff.Entry[] {
  return Object.entries(typedKeys).map(([name, { about, type, default: usual }]) => ({
    terms: [roff.bold(name.replaceAll("*", "NAME"))],
    about: `${about} Type: ${type.expected}.${usual === undefined ? "" : ` Default: \`${JSON.stringify(usual)}\`.`}`,
  }));
}

const settings = {
  model: "openai/gpt-5.5",
  limits: { timeout: "30m", max_cost: 2.5 },
  egress: { allow: ["*.example.com"] },
};

const example = [
  ".nf",
  ".RS 4",
  ...JSON.stringify(settings, undefined, 2)
    .split("\n")
    .map((line) => roff.textLine(roff.literal(line))),
  ".RE",
  ".fi",
].join("\n");
