import { namesBelow, placeBelow, isKeyName } from "./keypath.ts";
import { typedKeys } from "./schema.ts";
import type { SchemaPart } from "./types.ts";

/** The JSON Schema of a configuration file, in the draft that editors know best. */
export function configJsonSchema(): SchemaPart {
  const { properties, ...root } = objectAt("");
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The configuration of koda",
    // Visual Studio Code's own keywords.
    allowComments: true,
    allowTrailingCommas: true,
    ...root,
    properties: { $schema: { type: "string" }, ...(properties as SchemaPart) },
  };
}

/** The value at a place of the schema, such as `limits` or `providers.*`. */
function valueAt(place: string): SchemaPart {
  if (!isKeyName(place)) return objectAt(place);
  const { about, type, default: usual } = typedKeys[place];
  return { description: plainSentence(about), ...type.schema, ...(usual !== undefined && { default: usual }) };
}

function objectAt(place: string): SchemaPart {
  const entries = namesBelow(place).map((name) => [name, valueAt(placeBelow(place, name) ?? name)] as const);
  const [[first, ofAnyName] = ["", {}]] = entries;
  if (first === "*") return { type: "object", additionalProperties: ofAnyName };
  return { type: "object", properties: Object.fromEntries(entries), additionalProperties: false };
}

/** Without the Markdown of docs/configuration.md. */
function plainSentence(about: string): string {
  return about.replace(/\[([^\]]+)\]\([^)]+\)/g, "docs/$1").replaceAll("`", "");
}
