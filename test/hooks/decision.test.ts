import { expect, test } from "bun:test";
import type { HookMoment } from "../../lib/config/config.ts";
import { readDecision } from "../../lib/hooks/decision.ts";
import { faultOfMatch, matches } from "../../lib/hooks/match.ts";

const decisions: [printed: string, decision: ReturnType<typeof readDecision>, on?: HookMoment][] = [
  ["", {}],
  [" \n", {}],
  ["{}", {}],
  ['{"decision":"allow","reason":"fine"}', {}],
  ['{"decision":"deny"}\n', { denied: "" }],
  ['{"decision":"deny","reason":"no","context":"more"}', { denied: "no", context: "more" }],
  ['{"context":" "}', {}],
  ['{"input":{"a":1}}', { rewritten: { input: { a: 1 } } }],
  ['{"input":null}', { rewritten: { input: null } }],
  ['{"__proto__":{}}', 'unknown key "__proto__" in its output (the keys there are decision, reason, input, context)'],
  ["null", "its output is not a JSON object"],
  ['"deny"', "its output is not a JSON object"],
  ['{"decision":null}', 'its decision is null, expected "allow" or "deny"'],
  ['{"decision":"block"}', 'its decision is "block", expected "allow" or "deny"'],
  ['{"reason":1}', "its reason is not a string"],
  ['{"context":["a"]}', "its context is not a string"],
  ['{"input":{}}', 'input has no use on "prompt": it is for "tool.before"', "prompt"],
  ['{"context":"a"}', { context: "a" }, "stop"],
  ['{"context":"a"}', 'context has no use on "turn.end": no request follows', "turn.end"],
  ['{"decision":"deny"}', '"session.end" cannot be denied', "session.end"],
  ['{"decision":"allow"}', {}, "session.end"],
];

for (const [printed, decision, on = "tool.before"] of decisions)
  test(`a hook on ${on} that prints ${JSON.stringify(printed)}`, () => {
    expect(readDecision(printed, on)).toEqual(decision);
  });

test("output that is not JSON, or nested beyond measure, is a problem", () => {
  for (const printed of [
    "deny",
    "{",
    '{"decision":"deny"} and more',
    `{"input":${"[".repeat(5000)}${"]".repeat(5000)}}`,
  ])
    expect(readDecision(printed, "tool.before")).toMatch(/^its output is not JSON \(/);
});

const hook = (match: string | undefined) => ({
  on: "tool.before" as const,
  command: "true",
  timeoutMs: 1,
  required: false,
  ...(match !== undefined && { match: new RegExp(`^(?:${match})$`, "u") }),
});

test("a tool goes by every name by which a model may do the same", () => {
  const tools = ["Edit", "ApplyPatch", "Write", "Delete", "Bash"];
  const matched = (match?: string) => tools.filter((tool) => matches(hook(match), tool));
  expect(matched()).toEqual(tools);
  expect(matched("Edit")).toEqual(["Edit", "ApplyPatch"]);
  expect(matched("ApplyPatch")).toEqual(["Edit", "ApplyPatch"]);
  expect(matched("Write")).toEqual(["ApplyPatch", "Write"]);
  expect(matched("Delete|Bash")).toEqual(["ApplyPatch", "Delete", "Bash"]);
});

test("a list of names is compared with the tools, another pattern is not", () => {
  const fault = (match?: string) => faultOfMatch(hook(match), ["Bash", "Write"]);
  expect([undefined, "Bash|Write", "files__read", "bas.*", "(bash)", "bash?"].map(fault)).toEqual(
    Array(6).fill(undefined),
  );
  expect(fault("Bash|write")).toBe('no tool is called "write" (did you mean "Write"?)');
  expect(fault("Screwdriver")).toBe('no tool is called "Screwdriver" (the tools are Bash, Write)');
});
