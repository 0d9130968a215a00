import type { EventOf } from "../engine/event.ts";
import { visibleLine } from "../visible.ts";
import { indented } from "./listed.ts";

type Option = { value: string; title: string };

/** A value that a form asks for. */
export type Field = {
  name: string;
  label: string;
  about: string | undefined;
  kind: "text" | "number" | "yes or no" | "one" | "several";
  options: readonly Option[];
  isRequired: boolean;
  preset: unknown;
};

/** A field's schema, as the protocol has it. */
type FieldSchema = {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: readonly string[];
  enumNames?: readonly string[];
  oneOf?: readonly Named[];
  items?: { enum?: readonly string[]; anyOf?: readonly Named[] };
};

type Named = { const: string; title: string };

export function fieldsOf({ schema = {} }: EventOf<"elicitation.request">): Field[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, FieldSchema>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, field]) => {
    const options = optionsOf(field);
    return {
      name,
      label: field.title ?? name,
      about: field.description,
      kind: kindOf(field, options),
      options,
      isRequired: required.includes(name),
      preset: field.default,
    };
  });
}

function kindOf({ type }: FieldSchema, options: readonly Option[]): Field["kind"] {
  if (type === "array") return "several";
  if (options.length > 0) return "one";
  if (type === "boolean") return "yes or no";
  return type === "number" || type === "integer" ? "number" : "text";
}

function optionsOf({ enum: values = [], enumNames = [], oneOf = [], items = {} }: FieldSchema): Option[] {
  const named = [...oneOf, ...(items.anyOf ?? [])].map(({ const: value, title }) => ({ value, title }));
  const plain = [...values, ...(items.enum ?? [])].map((value, at) => ({ value, title: enumNames[at] ?? value }));
  return [...named, ...plain];
}

const words: Readonly<Record<Field["kind"], { asks: string; expected: string }>> = {
  text: { asks: "text", expected: "an answer" },
  number: { asks: "a number", expected: "a number" },
  "yes or no": { asks: "y or n", expected: "y or n" },
  one: { asks: "one of these", expected: "one number" },
  several: { asks: "some of these, with commas between", expected: "numbers" },
};

export function textOfField({ label, about, kind, options, isRequired, preset }: Field): string {
  const empty = preset !== undefined ? `; Enter: ${shownValue(preset)}` : isRequired ? "" : "; Enter: no answer";
  return [
    `? ${visibleLine(label)}`,
    ...(about === undefined ? [] : indented(about)),
    ...options.map(({ title }, at) => `    ${at + 1}. ${visibleLine(title)}`),
    `  ${visibleLine(`${words[kind].asks}${empty}`)}`,
  ].join("\n");
}

/** The value that a line gives the field: none for an empty line where there may be none. */
export function valueOf(field: Field, line: string): { given: unknown } | { problem: string } {
  const { kind, options, preset, isRequired } = field;
  if (line === "" && (preset !== undefined || !isRequired)) return { given: preset };
  const found = line === "" ? undefined : read(kind, line, options);
  if (found !== undefined) return { given: found };
  const range = options.length > 0 ? ` from 1 to ${options.length}` : "";
  return { problem: `Expected ${words[kind].expected}${range}; Ctrl-C ends the turn` };
}

function read(kind: Field["kind"], line: string, options: readonly Option[]): unknown {
  switch (kind) {
    case "text":
      return line;
    case "number":
      return Number.isFinite(Number(line)) ? Number(line) : undefined;
    case "yes or no":
      return /^(y|yes|true)$/i.test(line) ? true : /^(n|no|false)$/i.test(line) ? false : undefined;
    case "one":
      return chosen(line, options);
    case "several": {
      const values = line.split(",").map((part) => chosen(part.trim(), options));
      return values.includes(undefined) ? undefined : [...new Set(values)];
    }
    default:
      return kind satisfies never;
  }
}

/** By its number, its title or its value. */
function chosen(text: string, options: readonly Option[]): string | undefined {
  const numbered = /^\d+$/.test(text) ? options[Number(text) - 1] : undefined;
  return (numbered ?? options.find(({ value, title }) => value === text || title === text))?.value;
}

export function shownValue(value: unknown): string {
  if (value === undefined) return "(no answer)";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return Array.isArray(value) ? value.join(", ") : String(value);
}
