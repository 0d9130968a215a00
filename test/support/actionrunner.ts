import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Place } from "./place.ts";
import { runIn } from "./run.ts";

type Step = {
  name: string;
  id?: string;
  if?: string;
  uses?: string;
  with?: Record<string, string>;
  env?: Record<string, string>;
  run?: string;
  shell?: string;
};

type Action = {
  inputs: Record<string, { default?: string }>;
  outputs: Record<string, { value: string }>;
  runs: { using: string; steps: readonly Step[] };
};

export type ActionRun = {
  exit: number;
  outputs: Record<string, string>;
  summary: string;
  /** The log as the runner reads it. */
  log: string;
};

type RunOptions = {
  inputs?: Record<string, string>;
  env?: Record<string, string>;
  /** A directory in the place of GitHub's cache. */
  cache?: string;
  attempt?: number;
  /** The runner's directory of an earlier step of the same job. */
  temp?: string;
};

/** Runs a composite action as GitHub's runner does: its expressions, its files for outputs and the summary, the cache. */
export async function runAction(place: Place, path: string, { inputs = {}, env = {}, ...options }: RunOptions) {
  const { cache, attempt = 1, temp = join(place.home, `runner-${attempt}`) } = options;
  const action = Bun.YAML.parse(readFileSync(join(path, "action.yml"), "utf8")) as Action;
  const unknown = Object.keys(inputs).filter((name) => !(name in action.inputs));
  if (unknown.length > 0) throw new Error(`Unknown inputs: ${unknown.join(", ")}`);
  if (action.runs.using !== "composite") throw new Error(`Not a composite action: ${action.runs.using}`);
  mkdirSync(temp, { recursive: true });
  const context: Context = {
    inputs: Object.fromEntries(
      Object.entries(action.inputs).map(([name, input]) => [name, inputs[name] ?? input.default ?? ""]),
    ),
    runner: { temp },
    github: { run_id: "1", run_attempt: String(attempt) },
    steps: {},
  };
  const files = { output: join(temp, "output"), summary: join(temp, "summary") };
  const variables = {
    ...env,
    RUNNER_TEMP: temp,
    GITHUB_ACTION_PATH: resolve(path),
    GITHUB_OUTPUT: files.output,
    GITHUB_STEP_SUMMARY: files.summary,
    CI: "true",
  };
  const saved: (() => void)[] = [];
  const result: ActionRun = { exit: 0, outputs: {}, summary: "", log: "" };
  for (const step of action.runs.steps) {
    if (!isTrue(step.if ?? "true", context)) continue;
    if (step.uses !== undefined) {
      if (!step.uses.startsWith("actions/cache@") || cache === undefined) throw new Error(`Cannot run ${step.uses}`);
      saved.push(restore(cache, filled(step.with ?? {}, context)));
      continue;
    }
    if (step.shell !== "bash" || step.run === undefined) throw new Error(`The step "${step.name}" has no shell`);
    writeFileSync(files.output, "");
    const script = join(temp, "step.sh");
    writeFileSync(script, fill(step.run, context));
    const ran = await runIn(place, ["bash", "-c", 'exec bash --noprofile --norc -eo pipefail "$0" 2>&1', script], {
      env: { ...variables, ...filled(step.env ?? {}, context) },
    });
    result.log += ran.stdout;
    result.exit = ran.exit ?? -1;
    if (step.id !== undefined) context.steps[step.id] = { outputs: readOutputs(readFileSync(files.output, "utf8")) };
    if (result.exit !== 0) break;
  }
  for (const save of saved) save();
  for (const [name, { value }] of Object.entries(action.outputs)) result.outputs[name] = fill(value, context);
  if (existsSync(files.summary)) result.summary = readFileSync(files.summary, "utf8");
  return result;
}

type Context = {
  inputs: Record<string, string>;
  runner: Record<string, string>;
  github: Record<string, string>;
  steps: Record<string, { outputs: Record<string, string> }>;
};

function valueOf(expression: string, context: Context): string {
  let value: unknown = context;
  for (const name of expression.trim().split(".")) value = (value as Record<string, unknown> | undefined)?.[name];
  return typeof value === "string" ? value : "";
}

function fill(text: string, context: Context): string {
  return text.replaceAll(/\$\{\{([^}]*)\}\}/g, (_, expression: string) => valueOf(expression, context));
}

function filled(fields: Record<string, string>, context: Context): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, fill(text, context)]));
}

/** `a.b == 'text'` and `a.b != 'text'`: the only ones that our action has. */
function isTrue(condition: string, context: Context): boolean {
  if (condition === "true") return true;
  const [, left = "", operator, right] = /^(\S+) (==|!=) '([^']*)'$/.exec(condition) ?? [];
  if (operator === undefined) throw new Error(`Cannot evaluate the condition: ${condition}`);
  return (valueOf(left, context) === right) === (operator === "==");
}

/** The directory of the latest key with the prefix; returns what saves it under the key. */
function restore(cache: string, { path = "", key = "", "restore-keys": prefix = "" }: Record<string, string>) {
  const index = join(cache, "index.json");
  const known = existsSync(index) ? (JSON.parse(readFileSync(index, "utf8")) as string[]) : [];
  const found = known.findLast((each) => each === key) ?? known.findLast((each) => each.startsWith(prefix));
  if (found !== undefined) cpSync(join(cache, found), path, { recursive: true });
  return () => {
    cpSync(path, join(cache, key), { recursive: true });
    writeFileSync(index, JSON.stringify([...known, key]));
  };
}

/** `name=value`, or `name<<delimiter` and lines up to the delimiter. */
function readOutputs(text: string): Record<string, string> {
  const outputs: Record<string, string> = {};
  const lines = text.split("\n");
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    const [, name, delimiter] = /^([\w-]+)<<(.+)$/.exec(line) ?? [];
    if (name === undefined || delimiter === undefined) {
      if (line !== "") throw new Error(`Cannot read the output line: ${line}`);
      continue;
    }
    outputs[name] = lines.splice(0, lines.indexOf(delimiter)).join("\n");
    lines.shift();
  }
  return outputs;
}
