import { resolve } from "node:path";
import { isRecord, readJson } from "../lib/config/json.ts";
import { schemaFault } from "../lib/engine/schemacheck.ts";
import { KodaError } from "../lib/errors.ts";
import { readRegularFile } from "../lib/files/read.ts";
import type { JsonSchema } from "../lib/model/model.ts";

const largest = 1024 * 1024;

/** The JSON Schema of `--output-schema`; a bad one is an error before the first request. */
export async function readAnswerSchema(file: string): Promise<JsonSchema> {
  const bytes = readRegularFile(resolve(file), largest);
  if (bytes === undefined) throw unusable(file, "no such file");
  if ("problem" in bytes) throw unusable(file, bytes.problem);
  const { value: schema, problem } = readJson(new TextDecoder().decode(bytes));
  if (problem !== undefined) throw unusable(file, `it is not valid JSON: ${problem}`);
  if (!isRecord(schema)) throw unusable(file, "a JSON Schema is an object");
  const fault = await schemaFault(schema);
  if (fault !== undefined) throw unusable(file, fault);
  return schema;
}

function unusable(file: string, reason: string): KodaError {
  return new KodaError("usage", `Cannot use the schema "${file}" (--output-schema): ${reason}`);
}
