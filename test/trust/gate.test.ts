import { describe, expect, test } from "bun:test";
import { modes, type Mode } from "../../lib/config/config.ts";
import { KodaError } from "../../lib/errors.ts";
import type { Claim } from "../../lib/trust/claim.ts";
import { buildGate, denialText, offeredTools } from "../../lib/trust/gate.ts";

const read: Claim = { effect: "read", writes: [] };
const write: Claim = { effect: "write", writes: ["/project/a"] };
const remote: Claim = { effect: "remote", writes: [] };
const destructive: Claim = { effect: "destructive", writes: "unknown", reason: "git push --force" };
const outside: Claim = { effect: "write", writes: ["/etc/hosts"], outside: "/etc/hosts" };
const remoteOutside: Claim = { effect: "remote", writes: ["/etc/hosts"], outside: "/etc/hosts" };

/** The rule by which each mode denies a claim when nobody can be asked; "run" when it does not. */
const matrix: [what: string, claim: Claim, plan: string, safe: string, auto: string][] = [
  ["a read", read, "run", "run", "run"],
  ["a write inside the project", write, "mode plan: write", "mode safe: write", "run"],
  ["a remote call", remote, "mode plan: remote", "mode safe: remote", "run"],
  [
    "a destructive call",
    destructive,
    "destructive: git push --force",
    "destructive: git push --force",
    "destructive: git push --force",
  ],
  ["a write outside", outside, "mode plan: write", "outside: /etc/hosts", "outside: /etc/hosts"],
  [
    "a remote call that writes outside",
    remoteOutside,
    "mode plan: remote",
    "outside: /etc/hosts",
    "outside: /etc/hosts",
  ],
  ["a destructive call outside", { ...destructive, outside: "/" }, ...same("destructive: git push --force")],
  [
    "a destructive call without a reason",
    { effect: "destructive", writes: [] },
    ...same("destructive: it cannot be undone"),
  ],
  ["a read that claims to reach outside", { ...read, outside: "/etc/hosts" }, ...same("outside: /etc/hosts")],
];

function same(rule: string): [string, string, string] {
  return [rule, rule, rule];
}

const rows = matrix.flatMap(([what, claim, ...rules]) =>
  modes.map((mode, index): [string, Mode, string, Claim] => [what, mode, rules[index] ?? "", claim]),
);

describe("the gate of a run without a human", () => {
  test.each(rows)("%s in mode %s: %s", (_what, mode, rule, claim) => {
    const verdict = buildGate({ mode })({ tool: "Bash", claim });
    expect(verdict).toMatchObject(rule === "run" ? { allow: true } : { allow: false, rule });
  });

  test("a human may approve what no mode forbids, but for paths that stay closed to the tool", () => {
    const asked = rows.filter(([, mode, , claim]) => {
      const verdict = buildGate({ mode })({ tool: "Bash", claim });
      return !verdict.allow && verdict.asks === true;
    });
    expect(asked.every(([, mode, , claim]) => mode !== "plan" && claim.outside === undefined)).toBe(true);
    expect(new Set(asked.map(([, mode, , claim]) => `${mode} ${claim.effect}`))).toEqual(
      new Set(["safe write", "safe remote", "safe destructive", "auto destructive"]),
    );
  });

  test("a denied tool is denied whatever it does, also when it is allowed by name", () => {
    const gate = buildGate({ mode: "auto", allow: ["Bash"], deny: ["Bash"] });
    expect(gate({ tool: "Bash", claim: read })).toEqual({
      allow: false,
      rule: "tool Bash is not allowed (--deny-tool)",
    });
  });

  test("with a list of allowed tools every other tool is denied", () => {
    const gate = buildGate({ mode: "auto", allow: ["Read", "Grep"] });
    expect(gate({ tool: "Read", claim: read })).toEqual({ allow: true });
    expect(gate({ tool: "List", claim: read })).toEqual({
      allow: false,
      rule: "tool List is not allowed (--allow-tool)",
    });
  });

  test("an allowed tool is still held to the mode", () => {
    const gate = buildGate({ mode: "plan", allow: ["Write"] });
    expect(gate({ tool: "Write", claim: write })).toEqual({ allow: false, rule: "mode plan: write" });
  });

  test("the model is told of every rule in the same words", () => {
    for (const [rule, why] of [
      ["mode plan: write", "mode plan: write"],
      ['outside: "/etc/hosts" is outside the project', '"/etc/hosts" is outside the project'],
    ] as const)
      expect(denialText(rule)).toBe(
        `Denied: ${why}. No one can approve it here, so do not retry. Find another way, or finish and say what could not be done.`,
      );
  });
});

describe("the tools that a run offers", () => {
  const tools = ["Read", "Write", "Bash", "TaskList", "TaskOutput", "TaskStop"].map((name) => ({ name }));
  const offered = (...args: [choice: Parameters<typeof offeredTools>[1], withoutCommands?: boolean]) =>
    offeredTools(tools, ...args).map(({ name }) => name);

  test("are all of them when nothing is said", () => {
    expect(offered({})).toEqual(["Read", "Write", "Bash", "TaskList", "TaskOutput", "TaskStop"]);
  });

  test("are those that are allowed and not denied, in their own order", () => {
    expect(offered({ allow: ["Bash", "Read", "Write"], deny: ["Write"] })).toEqual(["Read", "Bash"]);
  });

  test("have nothing that runs commands where no command can run, even if it is asked for", () => {
    expect(offered({}, true)).toEqual(["Read", "Write"]);
    expect(offered({ allow: ["Bash", "Read"] }, true)).toEqual(["Read"]);
  });

  test.each([
    [{ allow: ["Raed"] }, '--allow-tool: unknown tool "Raed" (did you mean "Read"?)'],
    [{ deny: ["bash"] }, '--deny-tool: unknown tool "bash" (did you mean "Bash"?)'],
    [
      { deny: ["Browser"] },
      '--deny-tool: unknown tool "Browser" (the tools are Read, Write, Bash, TaskList, TaskOutput, TaskStop)',
    ],
  ])("%j is a usage error that names the tool that was meant", (choice, message) => {
    expect(() => offered(choice)).toThrow(new KodaError("usage", message));
  });
});
