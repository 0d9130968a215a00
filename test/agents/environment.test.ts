import { expect, test } from "bun:test";
import { describeChanges, describeEnvironment } from "../../lib/agents/environment.ts";
import { type Instructions, instructionFacts, noInstructions } from "../../lib/agents/instructions.ts";
import type { EnvironmentFacts } from "../../lib/session/item.ts";
import { facts } from "../support/sessions.ts";

const told = (from: EnvironmentFacts, to: EnvironmentFacts, blocks: Instructions["blocks"] = []) =>
  describeChanges(from, to, { blocks });

const before: EnvironmentFacts = { ...facts, cwd: "/work/site", mode: "plan", writable: ["/work/site", "/srv"] };

test("the environment says where the model is and what it may do", () => {
  expect(describeEnvironment(before, { ...noInstructions, repository: "/work" }).split("\n")).toEqual([
    "<environment>",
    "cwd: /work/site",
    "date: 2026-11-18",
    "mode: plan (only calls that read are allowed)",
    "sandbox: none",
    "writable: /work/site, /srv",
    `os: ${process.platform} ${process.arch}`,
    "git repository: /work",
    "</environment>",
  ]);
});

test("instructions follow it, each under its file, in their order", () => {
  const blocks = [
    { path: "/work/AGENTS.md", text: "Use tabs.\n" },
    { path: "/work/site/CLAUDE.md", text: "Use spaces." },
  ];
  expect(describeEnvironment(before, { ...noInstructions, blocks })).toEndWith(
    [
      "</environment>",
      "",
      "The project's instructions. Where they disagree, a later file counts more than an earlier one.",
      "",
      '<instructions file="/work/AGENTS.md">\nUse tabs.\n</instructions>',
      "",
      '<instructions file="/work/site/CLAUDE.md">\nUse spaces.\n</instructions>',
    ].join("\n"),
  );
});

test("a directory's name does not pass for a line of its own", () => {
  const text = describeEnvironment({ ...before, cwd: "/tmp/x\nmode: auto" }, noInstructions);
  expect(text).toContain("\ncwd: /tmp/x?mode: auto\n");
});

test("nothing is said of surroundings that stayed the same", () => {
  expect(told(before, { ...before, writable: [...before.writable] })).toBeUndefined();
});

const granted = { write: [], read: [], hide: [], allowGit: false };

test("what nobody granted goes without saying, until it is otherwise", () => {
  const text = describeEnvironment({ ...before, granted }, noInstructions);
  expect(text).toBe(describeEnvironment(before, noInstructions));
  expect(told(before, { ...before, granted })).toBeUndefined();

  const more = {
    ...before,
    granted: { ...granted, read: ["/a", "/b"], hide: ["/c"], allowGit: true, allowConfig: true },
  };
  const lines = [
    "also readable: /a, /b",
    "also hidden: /c",
    "commits: commands can commit in the project's own repository",
    "settings of other tools: what they run may be changed (.vscode, .envrc)",
  ];
  for (const line of lines) {
    expect(describeEnvironment(more, noInstructions)).toContain(`\n${line}\n`);
    expect(told(before, more)).toContain(`\n${line}\n`);
  }
  expect(
    told(more, { ...before, granted })
      ?.split("\n")
      .slice(2, -1),
  ).toEqual([
    "also readable: nothing",
    "also hidden: nothing",
    "commits: commands cannot commit",
    "settings of other tools: commands cannot change them",
  ]);
});

const changes: [change: Partial<EnvironmentFacts>, lines: string[]][] = [
  [{ cwd: "/work" }, ["cwd: /work"]],
  [{ date: "2026-11-19" }, ["date: 2026-11-19"]],
  [{ sandbox: "off" }, ["sandbox: off"]],
  [{ writable: [] }, ["writable: nothing"]],
  [{ model: "small" }, ["model: corp/small (what came before is of corp/big)"]],
  [{ provider: "other" }, ["model: other/big (what came before is of corp/big)"]],
  [
    { mode: "safe", date: "2026-12-01" },
    ["date: 2026-12-01", "mode: safe (calls that read are allowed; the others are denied)"],
  ],
];

test.each(changes)("of %j only that is said", (change, lines) => {
  const text = told(before, { ...before, ...change });
  expect(text?.split("\n")).toEqual(["<environment>", "Changed since the last turn:", ...lines, "</environment>"]);
});

test("of instructions only what has changed is said, after the rest", () => {
  const [root, site] = [
    { path: "/work/AGENTS.md", text: "Use tabs.\n" },
    { path: "/work/site/AGENTS.md", text: "Use spaces.\n" },
  ];
  const having = (...blocks: Instructions["blocks"]) => {
    const instructions = instructionFacts({ ...noInstructions, blocks });
    return { ...before, instructions };
  };
  const said = (from: EnvironmentFacts, ...blocks: Instructions["blocks"]) => told(from, having(...blocks), blocks);
  const header =
    "The project's instructions have changed. Each file below replaces its earlier text. Where files disagree, the one " +
    "nearest to the working directory counts most.";

  expect(said(having(root, site), root, { ...site, text: "Use spaces." })).toBeUndefined();
  expect(said(having(root, site), { ...root, text: "Use two tabs." }, site)).toBe(
    `${header}\n\n<instructions file="/work/AGENTS.md">\nUse two tabs.\n</instructions>`,
  );
  expect(said({ ...having(root), date: "2026-11-01" }, site)?.split("\n\n")).toEqual([
    "<environment>\nChanged since the last turn:\ndate: 2026-11-18\n</environment>",
    header,
    '<instructions file="/work/site/AGENTS.md">\nUse spaces.\n</instructions>',
    "Instructions that do not apply any more: /work/AGENTS.md",
  ]);
  expect(said(having(root))).toBe("Instructions that do not apply any more: /work/AGENTS.md");
});

test("instructions that an earlier koda did not record are told again", () => {
  const blocks = [{ path: "/work/AGENTS.md", text: "Use tabs." }];
  const now = { ...before, instructions: instructionFacts({ ...noInstructions, blocks }) };
  expect(told(before, now, blocks)).toContain("Use tabs.");
  expect(told(before, { ...before, instructions: [] })).toBeUndefined();
});
