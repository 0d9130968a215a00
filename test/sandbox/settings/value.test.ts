import { expect, test } from "bun:test";
import { withoutCredentials } from "../../../lib/sandbox/settings/value.ts";

const unchanged = [
  ..."https://npm.corp.example/repo/ https://npm.corp.example sparse+https://cargo.corp.example/index/".split(" "),
  ..."https://pkgs.corp.example/550e8400-e29b-41d4-a716-446655440000/_packaging/feed/npm/registry/".split(" "),
  ..."ssh://git@git.corp.example/index.git git@git.corp.example:index.git".split(" "),
  ..."https://one.example/a,https://two.example/b,direct https://one.example|off".split(" "),
  ..."corp=https://one.example/simple ${NPM_REGISTRY} /home/me@corp/wheels react@18.2.0 @corp/* -Wl,@list".split(" "),
  ..."proxy.corp.example:3128 true".split(" "),
  "",
];
test.each(unchanged)("%j stays as it is", (value) => expect(withoutCredentials(value)).toBe(value));

const shortened: [value: string, left: string][] = [
  ["https://user:secret@one.example/simple", "https://one.example/simple"],
  ["https://secret@one.example/simple", "https://one.example/simple"],
  ["https://user:se@cret@one.example/simple", "https://one.example/simple"],
  ["https://${USER}:${secret}@one.example/", "https://one.example/"],
  ["sparse+https://user:secret@one.example/index/", "sparse+https://one.example/index/"],
  ["ssh://git:secret@one.example/index.git", "ssh://git@one.example/index.git"],
  ["https://one.example/simple?token=secret#secret", "https://one.example/simple"],
  ["https://one.example/basic/s3cr3ts3cr3ts3cr3t/npm/", "https://one.example/basic/redacted/npm/"],
  ["https://one.example/npm_s3cr3ts3cr3ts3cr3t/", "https://one.example/redacted/"],
  [
    "https://a:secret@one.example,https://b:secret@two.example,direct",
    "https://one.example/,https://two.example/,direct",
  ],
  ["https://a:1,secret@one.example/", "https://one.example/"],
  [
    "https://one.example/F/feed/auth/550e8400-e29b-41d4-a716-446655440000/npm/",
    "https://one.example/F/feed/auth/redacted/npm/",
  ],
  ["https://one.example/;x=s3cr3t/", "https://one.example/redacted/"],
  ["//u:pw@one.example", "one.example"],
  ["//hush@one.example", "one.example"],
  ["HUSH@proxy:3128", "proxy:3128"],
  ["HUSH@10.0.0.1:8080", "10.0.0.1:8080"],
  ["DOM/u:pw@proxy", "proxy"],
  ["//one.example/:_authToken=hush", "redacted"],
  ["https://a:1|secret@one.example/", "https://one.example/"],
  ["https://a:secret@one.example/\n  https://two.example/", "https://one.example/\n  https://two.example/"],
  ["corp=https://user:secret@one.example/simple", "corp=https://one.example/simple"],
  ["user:secret@proxy.example:3128", "proxy.example:3128"],
  ["user:sec/ret@proxy.example:3128", "proxy.example:3128"],
  ["secret@proxy.example:3128", "proxy.example:3128"],
];
test.each(shortened)("%j loses what lets one in", (value, left) => expect(withoutCredentials(value)).toBe(left));

const refused = ["https://", "https://user:secret", "Basic c2VjcmV0", "-----BEGIN PRIVATE KEY-----"];
test.each(refused)("%j cannot be shown", (value) => expect(withoutCredentials(value)).toBeUndefined());
