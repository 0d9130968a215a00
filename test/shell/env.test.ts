import { expect, test } from "bun:test";
import { childEnv } from "../../lib/shell/env.ts";

const rules = { pass: [], tmp: "/run-tmp", keys: ["OPENAI_API_KEY", "CORP_LLM"] };

/** Variables of the parent, and whether commands get them. */
const variables: readonly [names: string, reaches: boolean][] = [
  // Needed and harmless.
  ["PATH HOME USER LANG LC_ALL LC_CTYPE TZ CI https_proxy HTTPS_PROXY NO_PROXY SSL_CERT_FILE", true],
  ["CARGO_HOME RUSTUP_HOME JAVA_HOME GOPATH NVM_DIR VIRTUAL_ENV GIT_AUTHOR_NAME", true],
  // Secrets, by their names.
  ["AWS_SECRET_ACCESS_KEY GITHUB_TOKEN DB_PASSWORD GOOGLE_APPLICATION_CREDENTIALS LC_TOKEN", false],
  ["lc_api_key OPENAI_API_KEY CORP_LLM", false],
  // What would change how programs run, or reach past the project.
  ["BUN_OPTIONS BUN_INSTALL BUN_BE_BUN BASH_ENV ENV BASH_FUNC_ls%% LD_PRELOAD NODE_OPTIONS GIT_DIR", false],
  ["SSH_AUTH_SOCK KODA_HOME", false],
  // Nobody thought of it.
  ["SOMETHING_ELSE path", false],
];

test.each(variables.flatMap(([names, reaches]) => names.split(" ").map((name) => [name, reaches] as const)))(
  "%s reaches a command: %j",
  (name, reaches) => {
    const { env, notes } = childEnv({ [name]: "a value" }, rules);
    expect(name in env).toBe(reaches);
    expect(env).toEqual({ TERM: "dumb", TMPDIR: "/run-tmp", ...(reaches && { [name]: "a value" }) });
    expect(notes).toEqual([]);
  },
);

test.each([
  ["npm_config_registry", "https://npm.example/", "https://npm.example/"],
  ["NPM_CONFIG_REGISTRY", "https://u:p@npm.example/", "https://npm.example/"],
  ["npm_config_@corp:registry", "https://npm.example/", "https://npm.example/"],
  ["npm_config_userconfig", "/home/me@corp/npmrc", "/home/me@corp/npmrc"],
  ["PIP_EXTRA_INDEX_URL", "https://a.example https://t@b.example", "https://a.example https://b.example/"],
  ["GOPROXY", "https://u:p@go.example,direct", "https://go.example/,direct"],
  ["CARGO_REGISTRIES_CORP_INDEX", "sparse+https://c.example/", "sparse+https://c.example/"],
  ["UV_INDEX_URL", "https://", undefined],
  ["npm_config_//npm.example/:_authToken", "t", undefined],
  ["npm_config__auth", "t", undefined],
  ["npm_config__authToken", "t", undefined],
  ["CARGO_REGISTRIES_CORP_TOKEN", "t", undefined],
  ["PIP_PASSWORD", "t", undefined],
])("%s=%s reaches a command as %j", (name, value, reaches) => {
  const { env, notes } = childEnv({ [name]: value }, rules);
  expect(env[name]).toBe(reaches);
  // An unknown variable is left out without a word, but not one that is known to be needed.
  const isKnown = reaches !== undefined || name === "UV_INDEX_URL";
  expect(notes).toHaveLength(isKnown && reaches !== value ? 1 : 0);
});

test("a registry that the user names is passed on as it is", () => {
  const parent = { PIP_INDEX_URL: "https://u:p@pypi.example/" };
  expect(childEnv(parent, { ...rules, pass: ["PIP_INDEX_URL"] })).toMatchObject({ env: parent, notes: [] });
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
  ["OPENAI_API_KEY", "sk-0123456789", "key of a provider"],
  ["CORP_LLM", "short", "key of a provider"],
  ["COPY", "Bearer sk-0123456789", "contains the key of a provider"],
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
