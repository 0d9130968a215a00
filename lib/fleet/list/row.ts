import { isRecord, type JsonRecord, readJson } from "../../config/json.ts";
import { nearest } from "../../nearest.ts";
import { keyPattern, type FleetTask } from "../task.ts";
import { type Faults, shownJson } from "./faults.ts";
import type { ListLine } from "./lines.ts";
import { branchProblem, expectedRepository, isBelowClone, isRevision, repositoryOf } from "./places.ts";
import { resolve } from "node:path";

/** The flags of a task, its own ones and the defaults together. */
export type TaskOptions = Pick<FleetTask, "args" | "maxCost" | "maxTokens" | "schema"> & {
  provider: string | undefined;
};

/** The rest of what a row needs. */
export type RowReading = {
  /** Of the list: relative paths start there. */
  directory: string;
  prompt(file: string): { text: string } | { problem: string };
  /** The options of a row; throws a KodaError for those that `koda exec` would refuse. */
  options(own: JsonRecord): Promise<TaskOptions | { problems: readonly string[] }>;
};

const fields = [
  "key",
  "prompt",
  "prompt_file",
  "repo",
  "ref",
  "dir",
  "options",
  "after",
  "group",
  "labels",
  "publish",
] as const;
type Field = (typeof fields)[number];

const expectedKey = "expected 1 to 48 of the characters A-Z a-z 0-9 . _ -, and neither . nor - as the first";
const expectedName = "expected 1 to 64 of the characters A-Z a-z 0-9 . _ - / :";
const namePattern = /^[A-Za-z0-9._/:-]{1,64}$/;

export type Row = { line: number; task: FleetTask };

/** The task of a line, as far as it has a key: others may name it, whatever else is wrong with it. */
export async function readRow({ line, text }: ListLine, faults: Faults, reading: RowReading): Promise<Row | undefined> {
  const { value, problem } = readJson(text);
  if (problem !== undefined) {
    faults.add(line, `the line is not valid JSON: ${problem.replace(/^\w+Error: /, "")}`);
    return undefined;
  }
  if (!isRecord(value)) {
    faults.add(line, `${shownJson(value)}: expected an object, as in {"key":"a","prompt":"…"}`);
    return undefined;
  }
  const reader = new RowReader(value, (about) => faults.add(line, about));
  const task = await taskOf(reader, reading);
  return task.key === "" ? undefined : { line, task };
}

async function taskOf(reader: RowReader, reading: RowReading): Promise<FleetTask> {
  reader.refuseUnknown();
  const key = reader.text("key", (text) => keyPattern.test(text), expectedKey) ?? reader.missing("key", expectedKey);
  const prompt = promptOf(reader, reading);
  const place = placeOf(reader, reading.directory);
  const publish = publishOf(reader, place.repo !== undefined);
  const after = reader.texts("after", () => true, "expected a list of keys");
  const labels = reader.texts("labels", isName, `expected a list of labels: each ${expectedName.slice(9)}`);
  const group = reader.text("group", isName, expectedName);
  const { provider, ...options } = await optionsOf(reader, reading);
  return {
    key,
    prompt,
    ...place,
    ...options,
    after: [...new Set(after)],
    group: group ?? provider ?? "default",
    labels: [...new Set(labels)],
    ...(publish && { publish }),
  };
}

function isName(text: string): boolean {
  return namePattern.test(text);
}

function promptOf(reader: RowReader, { prompt: read }: RowReading): string {
  const isText = (text: string) => text.trim() !== "";
  const given = reader.text("prompt", isText, "expected a text that is not empty");
  const file = reader.text("prompt_file", isText, "expected the name of a file");
  if (reader.has("prompt") && reader.has("prompt_file"))
    reader.fail('"prompt" and "prompt_file": expected one of them');
  if (!reader.has("prompt") && !reader.has("prompt_file"))
    reader.fail('"prompt" is missing: expected "prompt" or "prompt_file"');
  if (file === undefined) return given ?? "";
  const found = read(file);
  if ("text" in found) return found.text;
  reader.fail(`"prompt_file" ${shownJson(file)}: ${found.problem}`);
  return "";
}

function placeOf(reader: RowReader, directory: string): Pick<FleetTask, "repo" | "ref" | "dir"> {
  const repoText = reader.text("repo", () => true, expectedRepository);
  const found = repoText === undefined ? undefined : repositoryOf(repoText, directory);
  // The value may have a password in it.
  if (found !== undefined && "problem" in found) reader.fail(`"repo": ${found.problem}`);
  const repo = found !== undefined && "repo" in found ? found.repo : undefined;
  const ref = reader.text("ref", isRevision, "expected a branch, a tag or a commit");
  if (ref !== undefined && !reader.has("repo")) reader.fail('"ref" requires "repo"');
  const isRight = reader.has("repo") ? isBelowClone : (text: string) => text.trim() !== "" && !text.includes("\0");
  const below = reader.has("repo") ? "expected a directory below the clone" : "expected the name of a directory";
  const dir = reader.text("dir", isRight, below);
  return {
    ...(repo !== undefined && { repo }),
    ...(ref !== undefined && { ref }),
    ...(dir !== undefined && { dir: reader.has("repo") ? dir : resolve(directory, dir) }),
  };
}

function publishOf(reader: RowReader, hasRepo: boolean): FleetTask["publish"] | undefined {
  const publish = reader.record("publish", 'expected an object, as in {"branch":"fix"}');
  if (publish === undefined) return undefined;
  if (!hasRepo) reader.fail('"publish" requires "repo"');
  for (const name of Object.keys(publish))
    if (name !== "branch") reader.fail(`"publish.${name}": unknown field, expected "branch"`);
  const { branch } = publish;
  const problem = typeof branch === "string" ? branchProblem(branch) : "expected the name of a branch";
  if (problem !== undefined)
    reader.fail(`"publish.branch" ${shownJson(branch)}: git would refuse this name: ${problem}`);
  return typeof branch === "string" ? { branch } : undefined;
}

async function optionsOf(reader: RowReader, { options: read }: RowReading): Promise<TaskOptions> {
  const own = reader.record("options", 'expected an object, as in {"model":"openai/gpt-5"}') ?? {};
  const found = await read(own);
  if (!("problems" in found)) return found;
  for (const problem of found.problems) reader.fail(problem);
  return { args: [], provider: undefined };
}

/** Takes the fields of a row by their types. */
class RowReader {
  readonly #row: JsonRecord;
  readonly fail: (problem: string) => void;

  constructor(row: JsonRecord, fail: (problem: string) => void) {
    this.#row = row;
    this.fail = fail;
  }

  has(field: Field): boolean {
    return this.#row[field] !== undefined;
  }

  missing(field: Field, expected: string): string {
    if (!this.has(field)) this.fail(`"${field}" is missing: ${expected}`);
    return "";
  }

  refuseUnknown(): void {
    for (const name of Object.keys(this.#row)) {
      if (fields.some((field) => field === name)) continue;
      const meant = nearest(name, fields);
      const hint = meant === undefined ? `, expected one of ${fields.join(", ")}` : ` (did you mean "${meant}"?)`;
      this.fail(`${shownJson(name)}: unknown field${hint}`);
    }
  }

  text(field: Field, isRight: (text: string) => boolean, expected: string): string | undefined {
    const value = this.#row[field];
    if (value === undefined) return undefined;
    if (typeof value === "string" && isRight(value)) return value;
    this.fail(`"${field}" ${shownJson(value)}: ${expected}`);
    return undefined;
  }

  texts(field: Field, isRight: (text: string) => boolean, expected: string): string[] {
    const value = this.#row[field];
    if (value === undefined) return [];
    const isList = (list: readonly unknown[]): list is readonly string[] =>
      list.every((item) => typeof item === "string" && isRight(item));
    if (Array.isArray(value) && isList(value)) return [...value];
    const wrong = Array.isArray(value) ? value.find((item) => typeof item !== "string" || !isRight(item)) : value;
    this.fail(`"${field}" ${shownJson(wrong)}: ${expected}`);
    return [];
  }

  record(field: Field, expected: string): JsonRecord | undefined {
    const value = this.#row[field];
    if (value === undefined || isRecord(value)) return value;
    this.fail(`"${field}" ${shownJson(value)}: ${expected}`);
    return undefined;
  }
}
