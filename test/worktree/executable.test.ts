import { expect, test } from "bun:test";
import { executableChanges } from "../../lib/worktree/executable.ts";

const kinds = {
  config: [
    ".vscode/settings.json",
    ".agents/skills/x/SKILL.md",
    "packages/x/.claude/hooks/a.sh",
    ".Envrc",
    "a/b.code-workspace",
    ".mcp.json",
  ],
  workflow: [
    ".github/workflows/ci.yml",
    ".github/actions/setup/action.yml",
    ".gitlab-ci.yml",
    "ci/build.gitlab-ci.yml",
    ".gitlab/ci/test.yml",
    ".circleci/config.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "azure-pipelines.release.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    "deploy/Jenkinsfile.release",
    ".buildkite/pipeline.yml",
    ".forgejo/workflows/ci.yaml",
    ".woodpecker.yml",
  ],
  hook: [
    ".githooks/pre-commit",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook-local.toml",
    ".github/hooks/a.json",
  ],
} as const;

const others = [
  "src/a.ts",
  "package.json",
  "Makefile",
  ".github/CODEOWNERS",
  ".github/dependabot.yml",
  "github/workflows/ci.yml",
  "node_modules/a/.vscode/settings.json",
  "node_modules/a/.travis.yml",
  "my.gitlab-ci.yml.md",
  "notes/jenkinsfiles/a",
  "build.yml",
  ".vscodex/a",
];

test.each(Object.entries(kinds))("a %s is told by its path", (kind, paths) => {
  expect(executableChanges(paths)).toEqual(paths.toSorted().map((path) => ({ path, kind: kind as never })));
});

test("each is listed once, by its path, and other files are not", () => {
  expect(executableChanges(others)).toEqual([]);
  expect(executableChanges([...others, ".travis.yml", ".envrc", ".travis.yml"])).toEqual([
    { path: ".envrc", kind: "config" },
    { path: ".travis.yml", kind: "workflow" },
  ]);
});
