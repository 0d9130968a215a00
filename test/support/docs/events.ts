import { lineJsonSchema } from "../../../lib/engine/event.ts";
import { code, tableOf } from "./markdown.ts";

/** As much of JSON Schema as zod writes for the events. */
type Schema = {
  type?: string | readonly string[];
  const?: unknown;
  enum?: readonly string[];
  format?: string;
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
};

type EventSchema = Required<Pick<Schema, "description" | "properties" | "required">>;

/** Every event, in the order of the code. */
export const eventSchemas = (lineJsonSchema() as { anyOf: readonly EventSchema[] }).anyOf;
const envelope: readonly string[] = ["v", "seq", "at", "submission"];

export const eventParts = {
  envelope: () => {
    const [first] = eventSchemas;
    const rows = Object.entries(first?.properties ?? {}).filter(([name]) => envelope.includes(name));
    return tableOf(
      heads,
      rows.flatMap(([name, field]) => rowsOf(name, field, first?.required?.includes(name) === true)),
    );
  },
  events: () => [overview(), ...eventSchemas.map(sectionOf)].join("\n\n"),
} as const;

const heads = ["field", "type", ""];

function overview(): string {
  return tableOf(
    ["type", ""],
    eventSchemas.map((event) => [
      `[${code(typeOf(event))}](#${typeOf(event).replaceAll(".", "")})`,
      `${event.description}.`,
    ]),
  );
}

function typeOf({ properties }: EventSchema): string {
  return String(properties["type"]?.const);
}

function sectionOf(event: EventSchema): string {
  const own = Object.entries(event.properties).filter(([name]) => name !== "type" && !envelope.includes(name));
  const rows = own.flatMap(([name, field]) => rowsOf(name, field, event.required.includes(name)));
  return `### ${typeOf(event)}\n\n${event.description}.\n\n${tableOf(heads, rows)}`;
}

/** A field, and below it those of the object that it has. The fields of an agent's event are the event's own. */
function rowsOf(name: string, field: Schema, isRequired: boolean): string[][] {
  const { shape, isNullable } = unwrapped(field);
  const item = shape.type === "array" ? shape.items : undefined;
  const inner = item ?? shape;
  const words = [nameOfType(shape), isNullable ? "or null" : "", isRequired ? "" : "(optional)"];
  const row = [code(name), words.filter((word) => word !== "").join(" "), sentence(field.description)];
  const below = Object.entries(inner.properties ?? {}).flatMap(([part, schema]) =>
    rowsOf(`${name}${item === undefined ? "" : "[]"}.${part}`, schema, inner.required?.includes(part) === true),
  );
  return [row, ...below];
}

function sentence(text = ""): string {
  return text === "" ? "" : `${text}.`;
}

function unwrapped(field: Schema): { shape: Schema; isNullable: boolean } {
  const [one, other] = field.anyOf ?? [];
  return other?.type === "null" && one !== undefined
    ? { shape: one, isNullable: true }
    : { shape: field, isNullable: false };
}

function nameOfType({ type, enum: choices, const: value, items, format, oneOf }: Schema): string {
  if (value !== undefined) return code(JSON.stringify(value));
  if (choices !== undefined) return choices.length > 12 ? "a code" : choices.map(code).join(", ");
  if (oneOf !== undefined) return "event";
  if (type === "array") return `array of ${items?.enum === undefined ? nameOfType(items ?? {}) : nameOfType(items)}`;
  if (format === "date-time") return "time";
  return type === undefined ? "any" : [type].flat().join(" or ");
}
