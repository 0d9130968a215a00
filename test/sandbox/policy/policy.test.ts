import { describe, expect, test } from "bun:test";
import { type Grants, policyOf, readOnly } from "../../../lib/sandbox/policy/policy.ts";
import { compose } from "../../../lib/sandbox/policy/compose.ts";
import { writeRefusal } from "../../../lib/sandbox/policy/reach.ts";
import { whyHidden, whyUnwritable } from "../../../lib/trust/path.ts";

const plain: Grants = {
  mode: "auto",
  root: "/home/me/code",
  home: "/home/me",
  accountHome: "/home/me",
  tmp: "/tmp/koda-1",
  privateTmp: true,
  write: [],
  read: [],
  hide: [],
  dataDirectory: "/home/me/.local/share/koda",
  configDirectory: "/home/me/.config/koda",
  gitPlaces: [],
  copies: [],
  allowGit: false,
  allowConfig: false,
  network: "allowlist",
  resolve: (path) => [path],
};

const granted = (grants: Partial<Grants>) => policyOf({ ...plain, ...grants });
const reads = (path: string, grants: Partial<Grants> = {}) => whyHidden(path, granted(grants)) === undefined;
const writes = (path: string, grants: Partial<Grants> = {}) =>
  reads(path, grants) && whyUnwritable(path, granted(grants)) === undefined;

describe("what nobody asked for", () => {
  test("the project and the run's own directory may be written to, and nothing else", () => {
    expect(granted({}).write).toEqual(["/home/me/code", "/tmp/koda-1"]);
    expect(writes("/home/me/code/src/a.ts")).toBe(true);
    expect(writes("/home/me/other/a.ts")).toBe(false);
  });

  test("mode plan writes nothing but the run's own directory, and still reads", () => {
    const plan = granted({ mode: "plan", write: ["/home/me/cache"] });
    expect(plan.write).toEqual(["/tmp/koda-1"]);
    expect(plan).toEqual(readOnly(granted({ write: ["/home/me/cache"] })));
    expect(reads("/home/me/code/a.ts", { mode: "plan" })).toBe(true);
    expect(writes("/home/me/code/a.ts", { mode: "plan" })).toBe(false);
  });

  const secrets = [
    ..."/home/me/.ssh/id_ed25519 /home/me/.aws/credentials /home/me/.gnupg /home/me/.kube/config".split(" "),
    ..."/home/me/.docker/config.json /home/me/.azure/x /home/me/.config/gh/hosts.yml".split(" "),
    ..."/home/me/.config/gcloud/x /home/me/.netrc /home/me/.npmrc /home/me/.pypirc".split(" "),
    ..."/home/me/.git-credentials /home/me/.vault-token /home/me/.local/share/koda/koda.db".split(" "),
    ..."/run/docker.sock /dev/shm/x /tmp/of-the-host".split(" "),
  ];
  test.each(secrets)("%s cannot be read", (path) => expect(reads(path)).toBe(false));

  const ordinary = ["/etc/hosts", "/home/me/notes", "/home/me/.config/nvim", "/home/me/.sshx", "/usr/bin/git"];
  test.each(ordinary)("%s can be read", (path) => expect(reads(path)).toBe(true));

  test("the secrets of the account stay hidden where HOME is another directory", () => {
    expect(reads("/home/me/.ssh/id", { home: "/work/home" })).toBe(false);
    expect(reads("/work/home/.ssh/id", { home: "/work/home" })).toBe(false);
  });

  test("a run without any home hides what is left to hide", () => {
    const homeless = granted({
      home: "",
      accountHome: undefined,
      dataDirectory: undefined,
      configDirectory: undefined,
    });
    expect(homeless.hide).toEqual(["/run"]);
  });

  test("the number of processes has a limit, and what else is limited is said by the caller", () => {
    expect(granted({}).limits).toEqual({ processes: 8192 });
    expect(granted({ limits: { openFiles: 64 } }).limits).toEqual({ processes: 8192, openFiles: 64 });
  });
});

describe("what the user asks for", () => {
  test("--allow-read opens a hidden path, and only that one", () => {
    const read = ["/home/me/.npmrc"];
    expect(reads("/home/me/.npmrc", { read })).toBe(true);
    expect(reads("/home/me/.netrc", { read })).toBe(false);
    expect(writes("/home/me/.npmrc", { read })).toBe(false);
  });

  test("--deny-read wins over --allow-read of the same path, and the deeper of two wins otherwise", () => {
    expect(reads("/home/me/.npmrc", { read: ["/home/me/.npmrc"], hide: ["/home/me/.npmrc"] })).toBe(false);
    expect(reads("/srv/a/b", { read: ["/srv/a/b"], hide: ["/srv/a"] })).toBe(true);
    expect(reads("/srv/a/b", { read: ["/srv/a"], hide: ["/srv/a/b"] })).toBe(false);
  });

  test("what --allow-write names may be read as well", () => {
    expect(writes("/home/me/.docker/config.json", { write: ["/home/me/.docker"] })).toBe(true);
  });

  test("a hidden path hides what it leads to", () => {
    const resolve = (path: string) => (path === "/home/me/.ssh" ? [path, "/mnt/keys"] : [path]);
    expect(reads("/mnt/keys/id", { resolve })).toBe(false);
    expect(reads("/home/me/.ssh", { resolve })).toBe(false);
  });

  test("a file of the host's /tmp can be read when it is named", () => {
    expect(reads("/tmp/report", { read: ["/tmp/report"] })).toBe(true);
    expect(reads("/tmp/reports", { read: ["/tmp/report"] })).toBe(false);
  });
});

describe("where the project is", () => {
  test("in a hidden directory it is refused, with the flag that opens it", () => {
    for (const root of ["/home/me/.ssh", "/home/me/.aws/tools"])
      expect(() => granted({ root })).toThrow(`Pass --allow-read ${root} to open it.`);
    expect(writes("/home/me/.aws/tools/a", { root: "/home/me/.aws/tools", read: ["/home/me/.aws/tools"] })).toBe(true);
    expect(reads("/home/me/.aws/credentials", { root: "/home/me/.aws/tools", read: ["/home/me/.aws/tools"] })).toBe(
      false,
    );
  });

  test("hidden by the user it is refused whatever else is allowed", () => {
    expect(() => granted({ hide: [plain.root], read: [plain.root] })).toThrow("Take back --deny-read");
  });

  test("below what the user hides it needs to be allowed as well", () => {
    expect(() => granted({ hide: ["/home/me"] })).toThrow("--allow-read /home/me/code");
    expect(writes("/home/me/code/a", { hide: ["/home/me"], read: ["/home/me/code"] })).toBe(true);
  });

  test("nothing opens koda's own state", () => {
    const state = "/home/me/.local/share/koda";
    for (const grants of [
      { root: state },
      { write: [`${state}/x`] },
      { read: [state] },
      { read: [`${state}/koda.db`] },
    ])
      expect(() => granted(grants)).toThrow("koda keeps its own state there");
  });

  test.each(["/", "/home", "/home/me"])("in %s the secrets of the home stay hidden", (root) => {
    expect(writes("/home/me/notes", { root })).toBe(true);
    for (const path of ["/home/me/.ssh/id", "/home/me/.netrc", "/home/me/.local/share/koda/koda.db"])
      expect(reads(path, { root })).toBe(false);
  });

  test.each(["/", "/home", "/home/me"])("in %s nothing that starts programs elsewhere may be changed", (root) => {
    for (const path of ["/home/me/.config/koda/agents/a.md", "/home/me/.gitconfig", "/home/me/.config/git/config"]) {
      expect(reads(path, { root })).toBe(true);
      expect(writes(path, { root })).toBe(false);
    }
    // It may hold headers with keys.
    expect(reads("/home/me/.config/koda/config.json", { root })).toBe(false);
  });

  test("a repository that lies elsewhere is read-only where it is", () => {
    const gitPlaces = ["/home/me/code/store", "/srv/other"];
    expect(granted({ gitPlaces }).readonly).toEqual(["/home/me/code/store"]);
    expect(writes("/home/me/code/store/hooks/x", { gitPlaces })).toBe(false);
  });

  test("repositories that were found are read-only under every policy of the run", () => {
    const policy = granted({});
    const narrower = compose(policy, readOnly({ ...policy }));
    policy.repositories.paths = ["/home/me/code/bare"];
    for (const each of [policy, narrower])
      expect(writeRefusal("/home/me/code/bare/config", { ...each, write: policy.write })).toEqual({ kind: "readonly" });
    expect(writeRefusal("/home/me/code/bare2", policy)).toBeUndefined();
  });

  test("in shared memory or below /tmp it is itself to be read, in every mode", () => {
    for (const mode of ["plan", "auto"] as const)
      for (const root of ["/dev/shm/code", "/tmp/code"]) {
        expect(reads(`${root}/a`, { root, mode })).toBe(true);
        expect(reads(`${root}-other/a`, { root, mode })).toBe(false);
      }
  });
});
