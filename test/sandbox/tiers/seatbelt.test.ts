import { describe, expect, test } from "bun:test";
import type { Policy } from "../../../lib/sandbox/policy/policy.ts";
import { seatbeltProfile } from "../../../lib/sandbox/tiers/seatbelt.ts";

const usual: Policy = {
  root: "/Users/me/project",
  home: "/Users/me",
  tmp: "/private/tmp/run",
  privateTmp: false,
  write: ["/Users/me/project", "/private/tmp/run"],
  readonly: [],
  hide: [],
  show: [],
  copies: [],
  allowGit: false,
  network: "allowlist",
  limits: {},
};

function profile(rules: Partial<Policy> = {}, proxyPorts: readonly number[] = [3128, 1080]): string[] {
  return seatbeltProfile({ ...usual, ...rules }, { proxyPorts })
    .trimEnd()
    .split("\n");
}

const always = profile({ write: [] }, []);
/** What a policy adds to the rules that are the same for all. */
const added = (rules: Partial<Policy>, ports?: readonly number[]) =>
  profile(rules, ports).filter((line) => !always.includes(line));

test("what no policy changes", () => {
  expect(always).toEqual([
    "(version 1)",
    "(deny default)",
    "(allow process-exec)",
    "(allow process-fork)",
    "(allow file-map-executable)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow ipc-posix-sem)",
    "(allow pseudo-tty)",
    expect.stringMatching(/^\(allow sysctl-read (\(sysctl-name(-prefix)? "[a-z0-9_.]+"\) ?)+\)$/),
    expect.stringMatching(/^\(allow mach-lookup (\(global-name "com\.apple\.[a-z._]+"\) ?)+\)$/),
    "(allow file-read*)",
    '(deny file-read* file-write* (subpath "/dev"))',
    '(allow file-read-metadata (subpath "/dev"))',
    '(allow file-read* (literal "/dev") (subpath "/dev/fd") (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/stdin") (literal "/dev/stdout") (literal "/dev/stderr") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/autofs_nowait") (literal "/dev/dtracehelper"))',
    '(allow file-write* (subpath "/dev/fd") (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/stdin") (literal "/dev/stdout") (literal "/dev/stderr"))',
    '(allow file-read* file-write* file-ioctl (literal "/dev/ptmx") (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))',
    "(deny file-write-setugid)",
  ]);
});

describe("a policy is written down in rules of which the last that fits decides", () => {
  const either = "([.][gG][iI][tT]|[.][kK][oO][dD][aA])(/|$)";
  const rows: [name: string, rules: Partial<Policy>, expected: string[]][] = [
    [
      "writable roots, without what git runs and koda obeys",
      {},
      [
        '(allow file-write* (subpath "/Users/me/project"))',
        '(allow file-write* (subpath "/private/tmp/run"))',
        `(deny file-write* (require-all (subpath "/Users/me/project") (regex #"^/Users/me/project/(.*/)?${either}")))`,
        `(deny file-write* (require-all (subpath "/private/tmp/run") (regex #"^/private/tmp/run/(.*/)?${either}")))`,
        '(deny file-write-unlink (literal "/Users/me/project"))',
        '(deny file-write-unlink (literal "/private/tmp/run"))',
      ],
    ],
    [
      "a read-only path, and the way to it",
      { write: ["/p"], readonly: ["/p/a/b/c", "/elsewhere"] },
      [
        '(allow file-write* (subpath "/p"))',
        `(deny file-write* (require-all (subpath "/p") (regex #"^/p/(.*/)?${either}")))`,
        '(deny file-write* (subpath "/p/a/b/c"))',
        '(deny file-write* (subpath "/elsewhere"))',
        '(deny file-write-unlink (literal "/p"))',
        '(deny file-write-unlink (literal "/p/a/b"))',
        '(deny file-write-unlink (literal "/p/a"))',
      ],
    ],
    [
      "a repository that is open for commits",
      { root: "/p", write: ["/p"], readonly: ["/p/.git", "/p/.koda"], allowGit: true },
      [
        '(allow file-write* (subpath "/p"))',
        `(deny file-write* (require-all (subpath "/p") (regex #"^/p/(.*/)?${either}") (require-not (subpath "/p/.git"))))`,
        '(deny file-write-create file-write-unlink (literal "/p/.git"))',
        '(deny file-write* (require-all (subpath "/p") (regex #"^/p/[.][gG][iI][tT]/([hH][oO][oO][kK][sS]|[cC][oO][nN][fF][iI][gG]|[cC][oO][nN][fF][iI][gG][.][wW][oO][rR][kK][tT][rR][eE][eE]|[cC][oO][mM][mM][oO][nN][dD][iI][rR]|[mM][oO][dD][uU][lL][eE][sS]|[wW][oO][rR][kK][tT][rR][eE][eE][sS])(/|$)")))',
        '(deny file-write* (subpath "/p/.koda"))',
        '(deny file-write-unlink (literal "/p"))',
      ],
    ],
    [
      "hidden paths, and what is shown within them",
      { write: [], hide: ["/h", "/h/a/b"], show: ["/h/a", "/s"] },
      [
        '(deny file* (subpath "/h"))',
        '(allow file-read* (subpath "/s"))',
        '(allow file-read* (subpath "/h/a"))',
        '(allow file-read-metadata (literal "/h"))',
        '(deny file* (subpath "/h/a/b"))',
      ],
    ],
    [
      "a path that is both hidden and shown is shown",
      { write: [], hide: ["/h"], show: ["/h"] },
      ['(deny file* (subpath "/h"))', '(allow file-read* (subpath "/h"))'],
    ],
    [
      "a writable root that is shown within a hidden path",
      { write: ["/h/tmp"], hide: ["/h"], show: ["/h/tmp"] },
      [
        '(allow file-write* (subpath "/h/tmp"))',
        '(deny file* (subpath "/h"))',
        '(allow file-read* (subpath "/h/tmp"))',
        '(allow file-read-metadata (literal "/h"))',
        '(allow file-write* (subpath "/h/tmp"))',
        `(deny file-write* (require-all (subpath "/h/tmp") (regex #"^/h/tmp/(.*/)?${either}")))`,
        '(deny file-write-unlink (literal "/h/tmp"))',
      ],
    ],
    [
      "a shown path that is not writable is only read",
      { write: ["/p"], hide: ["/h"], show: ["/h/x"] },
      [
        '(allow file-write* (subpath "/p"))',
        '(deny file* (subpath "/h"))',
        '(allow file-read* (subpath "/h/x"))',
        '(allow file-read-metadata (literal "/h"))',
        `(deny file-write* (require-all (subpath "/p") (regex #"^/p/(.*/)?${either}")))`,
        '(deny file-write-unlink (literal "/p"))',
      ],
    ],
  ];
  test.each(rows)("%s", (_name, rules, expected) => expect(added(rules, [])).toEqual(expected));
});

describe("the network", () => {
  const outbound = ['(allow network-outbound (remote ip "localhost:3128"))'];
  const rows: [name: string, network: Policy["network"], ports: number[], expected: string[]][] = [
    ["the proxies' ports are all there is", "allowlist", [3128], outbound],
    ["of a network that is open, too", "open", [3128], outbound],
    ["none, with proxies", "none", [3128], []],
    ["none without proxies", "allowlist", [], []],
  ];
  test.each(rows)("%s", (_name, network, ports, expected) =>
    expect(profile({ network }, ports).filter((line) => line.includes("network"))).toEqual(expected),
  );
});

describe("a path is a path, however it is spelt", () => {
  const spelt: [path: string, filter: string, pattern: string][] = [
    ['/p/a"b', '(subpath "/p/a\\"b")', "^/p/a.+b/"],
    ["/p/a\\b", '(subpath "/p/a\\\\b")', "^/p/a.+b/"],
    ['/p/") (allow default) ("', '(subpath "/p/\\") (allow default) (\\"")', "^/p/.+allow.+default.+/"],
    ["/p/a (b)", '(subpath "/p/a (b)")', "^/p/a.+b.+/"],
    ["/p/a.*$|b", '(subpath "/p/a.*$|b")', "^/p/a.+b/"],
    ["/p/ü; #", '(subpath "/p/ü; #")', "^/p/.+/"],
    ["/", '(subpath "/")', "^/"],
  ];
  test.each(spelt)("%s", (path, filter, pattern) => {
    const [allowing, denying] = added({ write: [path] }, []);
    expect(allowing).toBe(`(allow file-write* ${filter})`);
    expect(denying).toStartWith(`(deny file-write* (require-all ${filter} (regex #"${pattern}(.*/)?`);
  });

  const refused: [name: string, path: string][] = [
    ["a new line", "/p/a\n(allow default)"],
    ["a carriage return", "/p/a\rb"],
    ["a zero byte", "/p/a\0b"],
    ["half a character", "/p/\ud800"],
    ["a relative path", "project"],
    ["nothing", ""],
  ];
  test.each(refused)("%s is refused", (_name, path) => {
    for (const rules of [{ write: [path] }, { readonly: [path] }, { hide: [path] }, { show: [path] }])
      expect(() => profile(rules)).toThrow(`Cannot confine commands by the path ${JSON.stringify(path)}`);
  });

  test("every rule is one line with as many parentheses opened as closed", () => {
    const write = spelt.map(([path]) => path);
    const lines = profile({ write, readonly: write, hide: write, show: write, allowGit: true });
    for (const line of lines) {
      const bare = line.replace(/#"[^"]*"|"(\\.|[^"\\])*"/g, "");
      expect([line, bare.match(/\(/g)?.length]).toEqual([line, bare.match(/\)/g)?.length]);
      expect(bare).toMatch(/^\((version|deny|allow) [^"\\]*\)$/);
    }
  });
});

describe("the patterns", () => {
  /** Of a rule with a pattern and perhaps an exception: does it refuse to write the path? */
  const denies = (rules: Partial<Policy>, path: string) =>
    profile(rules).some((line) => {
      const pattern = /^\(deny file-write\* .*\(regex #"(.*?)"\)/.exec(line)?.[1];
      const except = /\(require-not \(subpath "(.*?)"\)\)/.exec(line)?.[1];
      if (pattern === undefined || (except !== undefined && `${path}/`.startsWith(`${except}/`))) return false;
      return new RegExp(pattern).test(path);
    });
  const rows: [path: string, usually: boolean, withCommits: boolean][] = [
    ["/p/.git", true, false],
    ["/p/.git/objects/ab/cd", true, false],
    ["/p/.git/index.lock", true, false],
    ["/p/.git/config.lock", true, false],
    ["/p/.git/config", true, true],
    ["/p/.git/CONFIG", true, true],
    ["/p/.git/hooks/pre-commit", true, true],
    ["/p/.git/commondir", true, true],
    ["/p/.git/config.worktree", true, true],
    ["/p/.git/modules/sub/config", true, true],
    ["/p/.git/refs/heads/hooks/x", true, false],
    ["/p/.GIT/config", true, true],
    ["/p/sub/.git/HEAD", true, true],
    ["/p/.koda/settings.json", true, true],
    ["/p/a/.Koda", true, true],
    ["/p/.gitignore", false, false],
    ["/p/a.git/config", false, false],
    ["/p/src/git/.kodak", false, false],
  ];
  test.each(rows)("%s", (path, usually, withCommits) => {
    const policy = { root: "/p", write: ["/p"] };
    expect(denies(policy, path)).toBe(usually);
    expect(denies({ ...policy, allowGit: true }, path)).toBe(withCommits);
  });

  test("a writable root may itself lie within a directory of such a name", () => {
    const policy = { write: ["/h/.koda/run.1/tmp"] };
    expect(denies(policy, "/h/.koda/run.1/tmp/file")).toBe(false);
    expect(denies(policy, "/h/.koda/run.1/tmp/.koda/file")).toBe(true);
  });
});
