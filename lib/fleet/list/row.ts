import { resolve } from "node:path";
import { isRecord, type JsonRecord, readJson } from "../../config/json.ts";
import { keyPattern, type FleetTask } from "../task.ts";
import { type ListErrors, shownJson } from "./listerrors.ts";
import type { ListLine } from "./lines.ts";
import { branchProblem, expectedRepository, isBelowClone, isRevision, repositoryOf } from "./gitnames.ts";
import { RowReader } from "./rowreader.ts";

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

const expectedKey = "expected 1 to 48 of the characters A-Z a-z 0-9 . _ -, and neither . nor - as the first";
const expectedName = "expected 1 to 64 of the characters A-Z a-z 0-9 . _ - / :";
const namePattern = /^[A-Za-z0-9._/:-]{1,64}$/;

export type Row = { line: number; task: FleetTask };

/** The task of a line, as far as it has a key: others may name it, whatever else is wrong with it. */
export async function readRow(
  { line, text }: ListLine,
  errors: ListErrors,
  reading: RowReading,
): Promise<Row | undefined> {
  const { value, problem } = readJson(text);
  if (problem !== undefined) {
    errors.add(line, `the line is not valid JSON: ${problem.replace(/^(?:\w+Error: )?(?:JSON Parse error: )?/, "")}`);
    return undefined;
  }
  if (!isRecord(value)) {
    errors.add(line, `${shownJson(value)}: expected an object, as in {"key":"a","prompt":"…"}`);
    return undefined;
  }
  const reader = new RowReader(value, (about) => errors.add(line, about));
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
  const given = reader.text("prompt", isText, "expected a non-empty string");
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
  const below = reader.has("repo") ? "expected a directory in the clone" : "expected the name of a directory";
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
