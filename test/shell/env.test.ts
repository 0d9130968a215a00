import { expect, test } from "bun:test";
import { childEnv } from "../../lib/shell/env.ts";

const rules = { pass: [], tmp: "/run-tmp", providerKeys: ["OPENAI_API_KEY", "CORP_LLM"] };

test.each([
  // Needed and harmless.
  ["PATH", true],
  ["HOME", true],
  ["USER", true],
  ["LANG", true],
  ["LC_ALL", true],
  ["LC_CTYPE", true],
  ["TZ", true],
  ["CI", true],
  ["https_proxy", true],
  ["HTTPS_PROXY", true],
  ["NO_PROXY", true],
  ["SSL_CERT_FILE", true],
  ["CARGO_HOME", true],
  ["RUSTUP_HOME", true],
  ["JAVA_HOME", true],
  ["GOPATH", true],
  ["NVM_DIR", true],
  ["VIRTUAL_ENV", true],
  ["GIT_AUTHOR_NAME", true],
  // Secrets, by their names.
  ["AWS_SECRET_ACCESS_KEY", false],
  ["GITHUB_TOKEN", false],
  ["DB_PASSWORD", false],
  ["GOOGLE_APPLICATION_CREDENTIALS", false],
  ["LC_TOKEN", false],
  ["lc_api_key", false],
  ["OPENAI_API_KEY", false],
  ["CORP_LLM", false],
  // What would change how programs run, or reach past the project.
  ["BUN_OPTIONS", false],
  ["BUN_INSTALL", false],
  ["BUN_BE_BUN", false],
  ["BASH_ENV", false],
  ["ENV", false],
  ["BASH_FUNC_ls%%", false],
  ["LD_PRELOAD", false],
  ["NODE_OPTIONS", false],
  ["GIT_DIR", false],
  ["SSH_AUTH_SOCK", false],
  ["KODA_HOME", false],
  // Nobody thought of it.
  ["SOMETHING_ELSE", false],
  ["path", false],
])("%s reaches a command: %j", (name, reaches) => {
  const { env, notes } = childEnv({ [name]: "a value" }, rules);
  expect(name in env).toBe(reaches);
  expect(env).toEqual({ TERM: "dumb", TMPDIR: "/run-tmp", ...(reaches && { [name]: "a value" }) });
  expect(notes).toEqual([]);
});

test("the terminal and the directory for temporary files are the run's own", () => {
  const { env } = childEnv({ TERM: "xterm-256color", TMPDIR: "/tmp", TMP: "/tmp" }, rules);
  expect(env).toEqual({ TERM: "dumb", TMPDIR: "/run-tmp" });
});

test("what the user names is let through, whatever its name", () => {
  const pass = ["GITHUB_TOKEN", "SOMETHING_ELSE", "TERM", "NOT_SET"];
  const parent = { GITHUB_TOKEN: "t", SOMETHING_ELSE: "s", TERM: "xterm", OTHER_TOKEN: "o" };
  expect(childEnv(parent, { ...rules, pass })).toEqual({
    env: { GITHUB_TOKEN: "t", SOMETHING_ELSE: "s", TERM: "xterm", TMPDIR: "/run-tmp" },
    notes: [],
  });
});

test.each([
  ["BUN_OPTIONS", "--preload=./x.ts", "runtime"],
  ["OPENAI_API_KEY", "sk-0123456789", "provider's key"],
  ["CORP_LLM", "short", "provider's key"],
  ["COPY", "Bearer sk-0123456789", "contains a provider's key"],
])("%s is not let through even when it is named, and that is said", (name, value, reason) => {
  const parent = { OPENAI_API_KEY: "sk-0123456789", [name]: value };
  const { env, notes } = childEnv(parent, { ...rules, pass: [name] });
  expect(env).toEqual({ TERM: "dumb", TMPDIR: "/run-tmp" });
  expect(notes).toHaveLength(1);
  expect(notes[0]).toContain(`"${name}"`);
  expect(notes[0]).toContain(reason);
});

test("a provider's key does not hide in a variable that is otherwise harmless", () => {
  const parent = { OPENAI_API_KEY: "sk-0123456789", HTTPS_PROXY: "http://x:sk-0123456789@proxy", LANG: "C" };
  expect(childEnv(parent, rules)).toEqual({ env: { LANG: "C", TERM: "dumb", TMPDIR: "/run-tmp" }, notes: [] });
});

test("the parent's own environment stays as it is", () => {
  const parent = { PATH: "/bin", BUN_OPTIONS: "x" };
  childEnv(parent, rules);
  expect(parent).toEqual({ PATH: "/bin", BUN_OPTIONS: "x" });
});
