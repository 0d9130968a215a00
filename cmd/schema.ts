import { resolve } from "node:path";
import { schemaFault } from "../lib/engine/schemacheck.ts";
import { KodaError, messageOf } from "../lib/errors.ts";
import { readRegularFile } from "../lib/files/read.ts";
import type { JsonSchema } from "../lib/model/model.ts";

const largest = 1024 * 1024;

/** The JSON Schema of `--output-schema`, checked itself: a bad one is found before the model works for it. */
export async function readAnswerSchema(file: string): Promise<JsonSchema> {
  const bytes = readRegularFile(resolve(file), largest);
  if (bytes === undefined) throw unusable(file, "no such file");
  if ("problem" in bytes) throw unusable(file, bytes.problem);
  const schema = parse(new TextDecoder().decode(bytes), file);
  const fault = await schemaFault(schema);
  if (fault !== undefined) throw unusable(file, fault);
  return schema;
}

function parse(text: string, file: string): JsonSchema {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unusable(file, `it is not JSON (${messageOf(error)})`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw unusable(file, "a JSON Schema is an object");
}

function unusable(file: string, reason: string): KodaError {
  return new KodaError("usage", `Cannot use the schema "${file}" (--output-schema): ${reason}`);
}
