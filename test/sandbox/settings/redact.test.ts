import { describe, expect, test } from "bun:test";
import { redactCargoConfig } from "../../../lib/sandbox/settings/cargo.ts";
import { redactGhConfig, redactGhHosts } from "../../../lib/sandbox/settings/gh.ts";
import { redactNpmrc } from "../../../lib/sandbox/settings/npm.ts";
import { redactPipConf } from "../../../lib/sandbox/settings/pip.ts";
import type { Redact } from "../../../lib/sandbox/settings/redacted.ts";
import { cpuTime } from "../../support/cputime.ts";

type Row = readonly [text: string, left: string | undefined, isWhole?: boolean];

function rows(redact: Redact, table: readonly Row[]): void {
  for (const [text, left, isWhole = false] of table)
    test(JSON.stringify(text), () => {
      expect(redact(text)).toEqual(left === undefined ? undefined : { text: left, isWhole });
      expect(redact(text)?.text ?? "").not.toContain("secret");
      // As editors on Windows write it.
      expect(redact(text.replaceAll("\n", "\r\n"))?.text).toBe(left);
    });
}

describe("of .npmrc", () =>
  rows(redactNpmrc, [
    ["", "", true],
    ["registry=https://one.example/", "registry = https://one.example/\n", true],
    [" registry = 'https://one.example/'\n", "registry = https://one.example/\n", true],
    ["registry=https://one.example/ ; ours", "registry = https://one.example/\n", true],
    ["registry=https://one.example/ # secret", "registry = https://one.example/\n"],
    ["# _auth=secret\nregistry=https://one.example", "registry = https://one.example\n"],
    ["; our mirror\nsave-exact\nignore-scripts=true", "save-exact = true\nignore-scripts = true\n", true],
    ["@corp:registry=https://u:secret@one.example/", "@corp:registry = https://one.example/\n"],
    ['"@corp:registry" = "https://one.example/"', "@corp:registry = https://one.example/\n", true],
    ["//one.example/:_authToken=secret\nregistry=https://one.example/", "registry = https://one.example/\n"],
    ["//one.example/:username=me\n//one.example/:_password=secret\n//one.example/:keyfile=/secret", ""],
    ["_auth=secret\n_authToken=secret\n_password=secret\nemail=me@one.example\nkey=secret\ncert=secret", ""],
    ["registry=https://one.example/\n[section]\nregistry=https://secret.example/", "registry = https://one.example/\n"],
    ["omit[]=dev\nomit[]=optional", "omit[] = dev\nomit[] = optional\n", true],
    ["unknown=secret\nsave-prefix=~", "save-prefix = ~\n"],
    ["noproxy=a b=c;d", 'noproxy = "a b=c"\n', true],
    ["registry=https://", undefined],
    [
      'ca="-----BEGIN CERTIFICATE-----\\nMIIB+/s3cr3tno\\n-----END CERTIFICATE-----"',
      'ca = "-----BEGIN CERTIFICATE-----\\nMIIB+/s3cr3tno\\n-----END CERTIFICATE-----"\n',
      true,
    ],
    ['ca="-----BEGIN PRIVATE KEY-----\\nsecret"', undefined],
  ]));

describe("of pip.conf", () =>
  rows(redactPipConf, [
    ["", "", true],
    ["[global]\nindex-url = https://one.example/simple\n", "[global]\nindex-url = https://one.example/simple\n", true],
    [
      "[global]\nextra-index-url =\n    https://u:secret@one.example\n\n    # secret\n\thttps://two.example\n[install]\nno_index: true",
      "[global]\nextra-index-url = \n    https://one.example/\n    https://two.example\n[install]\nno_index = true\n",
    ],
    ["[global]\npassword = secret\n  https://secret.example\ntimeout = 3", "[global]\ntimeout = 3\n"],
    ["[global]\nproxy = user:secret@proxy.example:3128", "[global]\nproxy = proxy.example:3128\n"],
    ["[se cret]\ntimeout = 3", ""],
    ["index-url = https://one.example", undefined],
    ["[global]\nindex-url", undefined],
    ["[global]\nindex-url = https://", undefined],
  ]));

describe("of cargo's config.toml", () =>
  rows(redactCargoConfig, [
    ["", "", true],
    [
      '[registries.corp]\nindex = "sparse+https://u:secret@one.example/"\ntoken = "secret"\ncredential-provider = ["secret"]',
      '"registries"."corp"."index" = "sparse+https://one.example/"\n',
    ],
    [
      '[build]\njobs = 2 # few\nrustflags = [\'-C\', "a=\\"b"]',
      '"build"."jobs" = 2\n"build"."rustflags" = ["-C", "a=\\"b"]\n',
      true,
    ],
    ["[build]\njobs = 2\n# token = 'secret'", '"build"."jobs" = 2\n'],
    ["[target.'cfg(unix)']\nlinker = \"clang\"", '"target"."cfg(unix)"."linker" = "clang"\n', true],
    ["[source.crates-io]\nreplace-with = 'a.b'", '"source"."crates-io"."replace-with" = "a.b"\n', true],
    ["[env]\nA = 'secret'\n[registry]\ntoken = 'secret'\ndefault = 'corp'", '"registry"."default" = "corp"\n'],
    ["[[registry]]\ntoken = 'secret'", ""],
    ["[build]\nrustflags = [{token = 'x'}]", undefined],
    ["[registries.corp]\nindex = 'https://'", undefined],
    ["[registries", undefined],
  ]));

describe("of gh's config.yml", () =>
  rows(redactGhConfig, [
    ["", "", true],
    [
      "# The current version of the config schema\nversion: 1\neditor: vim\naliases:\n    co: pr checkout\n",
      '{\n  "version": 1\n}\n',
      true,
    ],
    ["git_protocol: ssh\naliases:\n    x: api --token=secret\n", '{\n  "git_protocol": "ssh"\n}\n'],
    ["- secret", undefined],
    ["a: [", undefined],
  ]));

describe("of gh's hosts.yml", () =>
  rows(redactGhHosts, [
    [
      "github.com:\n    users:\n        me:\n            oauth_token: secret\n    oauth_token: secret\n    user: me\n",
      '{\n  "github.com": {\n    "user": "me",\n    "users": {\n      "me": {}\n    }\n  }\n}\n',
    ],
    [
      "github.com:\n    git_protocol: https\n    users:\n        me:\n    user: me\n",
      '{\n  "github.com": {\n    "git_protocol": "https",\n    "user": "me",\n    "users": {\n      "me": {}\n    }\n  }\n}\n',
      true,
    ],
    ["github.com: secret", '{\n  "github.com": {\n    "users": {}\n  }\n}\n'],
  ]));

describe("a file that was made to hold up koda", () => {
  const files: readonly [name: string, redact: Redact, text: string][] = [
    ["one long line without a sign", redactPipConf, `[global]\n${" ".repeat(60_000)}x`],
    ["one long key", redactPipConf, `[global]\n${"a ".repeat(30_000)}= x`],
    ["a line of colons", redactNpmrc, `proxy=${":".repeat(60_000)}`],
    ["thousands of tables in each other", redactCargoConfig, `[${"a.".repeat(20_000)}a]\nx = 1`],
  ];
  test.each(files)("%s is read in no time", (_, redact, text) => {
    const started = cpuTime();
    redact(text);
    expect(cpuTime() - started).toBeLessThan(5_000);
  });
});
