import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentEvents, defineAgent } from "../support/agents.ts";
import { checkLines, follow, koda, start, using } from "../support/koda.ts";
import { call, hang, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";
import {
  askedOf,
  finding,
  found,
  type GitPlace,
  makeRepository,
  noticesOf,
  review,
  reviewText,
} from "../support/review.ts";

/** Two commits on a branch, and changes of each kind that is not committed. */
function makeBranch(): GitPlace {
  const place = makeRepository({ "a.txt": "one\n", "b.txt": "two\n", "old.txt": "three\n" });
  place.git("checkout", "-q", "-b", "feature");
  place.write("branch.txt", "of the branch\n");
  place.git("add", "-A");
  place.git("commit", "-q", "-m", "second");
  place.git("checkout", "-q", "main");
  place.write("later.txt", "of main, after the branch began\n");
  place.git("add", "-A");
  place.git("commit", "-q", "-m", "later");
  place.git("checkout", "-q", "feature");
  place.write("staged.txt", "staged\n");
  place.git("add", "staged.txt");
  place.write("a.txt", "unstaged\n");
  place.write("new/untracked.txt", "untracked\n");
  place.git("rm", "-q", "old.txt");
  place.git("mv", "b.txt", "c.txt");
  return place;
}

describe("the target is", () => {
  const rows: readonly [name: string, args: readonly string[], files: readonly string[]][] = [
    ["what is not committed", [], ["a.txt", "c.txt (was b.txt)", "new/untracked.txt", "old.txt", "staged.txt"]],
    [
      "the same by its flag",
      ["--uncommitted"],
      ["a.txt", "c.txt (was b.txt)", "new/untracked.txt", "old.txt", "staged.txt"],
    ],
    ["a branch", ["--base", "main"], ["branch.txt"]],
    ["a commit", ["--commit", "HEAD"], ["branch.txt"]],
    ["the first commit", ["--commit", "main~1"], ["a.txt", "b.txt", "old.txt"]],
  ];
  for (const [name, args, files] of rows)
    test(name, async () => {
      await using place = makeBranch();
      await using server = await startModelServer([found(finding(files[0] ?? ""))]);
      const { end } = await review(place, server, args);
      expect(server.problems).toEqual([]);
      expect([end.status, end.exit, end.files_changed]).toEqual(["done", 0, 0]);
      expect(end.output).toEqual({ findings: [finding(files[0] ?? "")], summary: "A summary." });
      const [, listed = "", patch = ""] =
        /The changed files:\n([\s\S]*?)\n\n([\s\S]*)/.exec(askedOf(server.requests[0])) ?? [];
      expect(listed.split("\n").map((line) => line.slice(2))).toEqual([...files]);
      expect(patch.match(/^diff --git/gm)).toHaveLength(files.length);
    });

  test("what a text names, in a project without git", async () => {
    await using place = makePlace({ "src/a.ts": "one\ntwo\n" });
    const findings = [finding("src/a.ts", { end_line: 9 }), finding("src/none.ts"), finding("../home/.profile")];
    writeFileSync(join(place.home, ".profile"), "x");
    await using server = await startModelServer([call("Read", { path: "src/a.ts" }), found(...findings)]);
    const { end } = await review(place, server, ["--target", "the code in src/"]);
    expect(end.output).toMatchObject({ findings: [finding("src/a.ts", { end_line: 2 })] });
    expect(askedOf(server.requests[0])).toStartWith("Review this: the code in src/\n");
  });

  test("in a directory of a repository only what lies in it, with its own paths", async () => {
    await using place = makeRepository({ "top.txt": "x\n", "pkg/in.txt": "x\n" });
    place.write("top.txt", "y\n");
    place.write("pkg/in.txt", "y\n");
    await using server = await startModelServer([found(finding("in.txt"), finding("top.txt"))]);
    const { stdout } = await reviewText(place, server, ["-C", "pkg", "--format", "github"]);
    expect(stdout).toBe("::warning file=pkg/in.txt,line=1,endLine=1,title=medium%3A A title::A body.\n");
    expect(askedOf(server.requests[0])).not.toContain("top.txt");
  });
});

test("the reviewer is an agent that reads only, and gets the hint", async () => {
  await using place = makeRepository();
  place.write("a.txt", "one\ntwo\nthree\nfour\n");
  await using server = await startModelServer([
    call("Bash", { command: "echo x > made.txt; git log --oneline | wc -l" }),
    found(),
  ]);
  const { events, end } = await review(place, server, ["look at line four"]);
  expect(existsSync(join(place.project, "made.txt"))).toBe(false);
  const [first] = server.requests;
  expect(first?.tools).toEqual(["Read", "List", "Glob", "Grep", "Bash"]);
  expect(askedOf(first)).toContain("The user asks you to look at this above all: look at line four");
  expect(askedOf(first)).toEndWith("+four\n");
  const begun = agentEvents(events).find(({ type }) => type === "session.start");
  expect(begun).toMatchObject({ mode: "plan", source: "agent" });
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["session.start", "turn.start", "turn.end", "end"]),
  );
  expect(end).toMatchObject({ agents: { ok: 1, failed: 0, cancelled: 0 }, output: { findings: [] } });
});

test("another agent can review, and it reads only as well", async () => {
  await using place = makeRepository();
  place.write("a.txt", "changed\n");
  defineAgent(place, "security", { tools: "Read Write", mode: "auto" });
  await using server = await startModelServer([call("Write", { path: "made.txt", content: "x" }), found()]);
  const { events, end } = await review(place, server, ["--agent", "security"]);
  expect([end.exit, existsSync(join(place.project, "made.txt"))]).toEqual([0, false]);
  expect(events).toContainEqual(expect.objectContaining({ type: "agent", agent: { id: "a1", name: "security" } }));
});

test("stdout has only the review, and a later run knows it", async () => {
  await using place = makeRepository();
  place.write("a.txt", "changed\n");
  const answer = found(finding("a.txt", { severity: "high", title: "It is wrong", suggestion: "undo()" }));
  await using server = await startModelServer([answer, say("Fixed.")]);
  const ran = await reviewText(place, server);
  expect(ran.stdout).toBe(
    "high: a.txt:1\n  It is wrong\n  A body.\n  Suggestion:\n    undo()\n\n1 finding: 1 high\nA summary.\n",
  );
  expect(ran.stderr).toContain("Reviewing the uncommitted changes: 1 file\n");
  await koda(place, ["exec", ...using(server), "--last", "fix it"]);
  const told = server.requests.at(-1)?.lines.map(({ role, text }) => `${role}: ${text}`) ?? [];
  expect(told).toContainEqual("user: Review the uncommitted changes");
  expect(told).toContainEqual(expect.stringMatching(/^assistant: .*"It is wrong"/));
});

describe("refused before a request and a session:", () => {
  const rows: readonly [args: readonly string[], says: string | RegExp][] = [
    [["--base", "nowhere"], '--base "nowhere": no branch, tag or commit has this name'],
    [["--commit", "0123456"], '--commit "0123456": no branch, tag or commit has this name'],
    [["--commit=-x"], '--commit "-x": no branch'],
    [["--base", "remote"], /--base "remote": .* \(did you mean "origin\/remote"\?\)/],
    [["--base", "other"], '--base "other": has no commit in common with this branch'],
    [["--base", "main", "--commit", "HEAD"], "--base and --commit cannot be used together"],
    [["--uncommitted", "--target", "x"], "--uncommitted and --target cannot be used together"],
    [["--format", "xml"], /--format "xml": expected text, json, sarif, github, gitlab or junit\n/],
    [["--fail-on-severity", "severe"], '--fail-on-severity "severe": expected info, low, medium, high or critical'],
    [["--target", ""], '--target "": expected'],
    [["--verify", "true"], 'Unknown flag "--verify": koda exec has it, and koda review does not'],
    [["main"], 'HINT "main" is the name of a branch, a tag or a commit: write koda review --base main'],
    [["--agent", "reviw"], '--agent reviw: no agent has that name (did you mean "review"?)'],
    [["-m", "demo"], "The demo model only plays its script"],
    [["--mode", "auto"], 'Unknown flag "--mode": koda exec has it'],
  ];
  for (const [args, says] of rows)
    test(args.join(" "), async () => {
      await using place = makeRepository();
      place.git("update-ref", "refs/remotes/origin/remote", "HEAD");
      place.git("checkout", "-q", "--orphan", "other");
      place.git("commit", "-q", "-m", "another beginning");
      place.git("checkout", "-q", "main");
      place.write("a.txt", "changed\n");
      await using server = await startModelServer([]);
      const ran = await koda(place, [
        "review",
        "--output",
        "jsonl",
        ...(args[0] === "-m" ? [] : using(server)),
        ...args,
      ]);
      const { stderr } = ran;
      const { end } = checkLines(ran);
      expect([end.exit, end.session, server.requests.length]).toEqual([2, null, 0]);
      if (typeof says === "string") expect(stderr).toContain(`koda: ${says}`);
      else expect(stderr).toMatch(says);
      expect((await koda(place, ["session", "list", "--json"])).stdout.trim()).toBe("[]");
    });

  test("a directory without a repository", async () => {
    await using place = makePlace({ "a.txt": "" });
    await using server = await startModelServer([]);
    const { end } = await review(place, server);
    expect([end.exit, end.session]).toEqual([2, null]);
    expect(end.error?.message).toContain(
      "is not in a git repository: run koda review in one, or name what to review with --target",
    );
  });

  const shallow: readonly [args: readonly string[], says: string][] = [
    [["--base", "origin/main~1"], "this is a shallow clone, which may lack it: run git fetch --unshallow"],
    [["--commit", "HEAD"], "has a parent that this shallow clone does not have: run git fetch --deepen=1"],
  ];
  for (const [args, says] of shallow)
    test(`a shallow clone with ${args.join(" ")}`, async () => {
      await using place = makeRepository();
      place.git("commit", "-q", "--allow-empty", "-m", "second");
      place.git("clone", "-q", "--depth", "1", `file://${place.project}`, "clone");
      await using server = await startModelServer([]);
      const { end } = await review(place, server, ["-C", "clone", ...args]);
      expect([end.exit, server.requests.length]).toEqual([2, 0]);
      expect(end.error?.message).toContain(says);
    });
});

describe("there is nothing to review", () => {
  const empty = {
    text: "No findings\n",
    json: '"findings": []',
    sarif: '"results": []',
    github: /^$/,
    gitlab: /^\[\]\n$/,
    junit: '<testsuite name="koda review" tests="0"',
  } as const;
  for (const [format, says] of Object.entries(empty))
    test(`in the format ${format}`, async () => {
      await using place = makeRepository();
      // No model is needed.
      const { exit, stdout, stderr } = await koda(place, ["review", "--format", format]);
      expect(exit).toBe(0);
      expect(stderr).toBe("koda: There is nothing to review: the uncommitted changes are none\n");
      if (typeof says === "string") expect(stdout).toContain(says);
      else expect(stdout).toMatch(says);
    });

  test("where all that changed is binary, generated or the review itself", async () => {
    await using place = makeRepository({ "logo.png": new Uint8Array([0, 1, 2]), "yarn.lock": "a\n" });
    place.write("logo.png", new Uint8Array([0, 3, 4]));
    place.write("yarn.lock", "b\n");
    await using server = await startModelServer([]);
    writeFileSync(join(place.project, "review.txt"), "of yesterday");
    const { end, stderr } = await review(place, server, ["-o", "review.txt"]);
    expect([end.exit, end.session, server.requests.length]).toEqual([0, null, 0]);
    expect(end.output).toMatchObject({ findings: [] });
    expect(stderr).toContain("Not read: logo.png (binary), yarn.lock (a lock file)");
    expect(readFileSync(join(place.project, "review.txt"), "utf8")).toStartWith("No findings\n");
  });
});

describe("findings", () => {
  test("on other files are dropped and counted, and the ranges of the others end with their files", async () => {
    await using place = makeRepository({ "a.txt": "one\ntwo\nthree\n", "gone.txt": "x\n", "same.txt": "x\n" });
    place.write("a.txt", "one\ntwo\nthree\nfour\n");
    place.git("rm", "-q", "gone.txt");
    await using server = await startModelServer([
      found(
        finding("a.txt", { start_line: 4, end_line: 400, title: "too far" }),
        finding("b/a.txt", { start_line: 900, end_line: 1, title: "turned around" }),
        finding(join(place.project, "a.txt"), { title: "absolute" }),
        finding("./a.txt", { start_line: 2, end_line: 2, title: "dotted" }),
        ...["gone.txt", "same.txt", "none.txt", "../project/none", "/etc/passwd", ".git/config"].map((path) =>
          finding(path),
        ),
      ),
    ]);
    const ran = await review(place, server);
    const { findings } = ran.end.output as { findings: { title: string; start_line: number; end_line: number }[] };
    expect(findings.map(({ title, start_line: from, end_line: to }) => `${title} ${from}-${to}`)).toEqual([
      "absolute 1-1",
      "turned around 1-4",
      "dotted 2-2",
      "too far 4-4",
    ]);
    expect(noticesOf(ran)).toContain("Dropped 6 findings on files that were not reviewed or do not exist");
    expect(ran.stderr).toContain("Dropped 6 findings");
  });

  test("are repaired twice at most", async () => {
    await using place = makeRepository();
    place.write("a.txt", "x\n");
    const wrong = say('{"findings":[{"path":"a.txt"}],"summary":""}');
    await using server = await startModelServer([wrong, say("No JSON"), found(), wrong, wrong, wrong]);
    expect((await review(place, server)).end.output).toEqual({ findings: [], summary: "A summary." });
    expect(server.requests).toHaveLength(3);
    const ran = await reviewText(place, server, ["--format", "sarif"]);
    expect([ran.exit, ran.stdout, server.requests.length]).toEqual([6, "", 6]);
    expect(ran.stderr).toContain("The review ended early, so there are no findings");
  });

  const severe: readonly [least: string, exit: number][] = [
    ["info", 3],
    ["medium", 3],
    ["high", 0],
    ["critical", 0],
  ];
  for (const [least, exit] of severe)
    test(`the worst of which is medium: exit ${exit} with --fail-on-severity ${least}`, async () => {
      await using place = makeRepository();
      place.write("a.txt", "x\n");
      await using server = await startModelServer([
        found(finding("a.txt"), finding("a.txt", { severity: "low", title: "b" })),
      ]);
      const ran = await review(place, server, ["--fail-on-severity", least, "-o", "../review.txt"]);
      expect([ran.end.exit, ran.end.error?.code]).toEqual([exit, exit === 0 ? undefined : "severity"]);
      // The review is whole in either case.
      expect(ran.end.output).toMatchObject({ findings: [{ severity: "medium" }, { severity: "low" }] });
      expect(readFileSync(join(place.project, "../review.txt"), "utf8")).toContain("2 findings: 1 medium, 1 low");
    });

  test("are on stdout too when they are that severe", async () => {
    await using place = makeRepository();
    place.write("a.txt", "x\n");
    await using server = await startModelServer([found(finding("a.txt"))]);
    const { exit, stdout, stderr } = await reviewText(place, server, ["--fail-on-severity", "low", "--format", "json"]);
    expect([exit, JSON.parse(stdout)]).toEqual([3, { findings: [finding("a.txt")], summary: "A summary." }]);
    expect(stderr).toContain('koda: 1 finding is at least "low", and --fail-on-severity low is set');
    expect(stderr).not.toContain("A body.");
  });
});

test("files that are hidden from tools are hidden from the reviewer", async () => {
  await using place = makeRepository({
    "a.txt": "x\n",
    "secret/key.txt": "old key\n",
    "moved.txt": "1\n2\n3\nmoved key\n",
  });
  place.write("a.txt", "changed\n");
  place.write("secret/key.txt", "new key\n");
  place.git("mv", "moved.txt", "secret/moved.txt");
  await using server = await startModelServer([found(finding("a.txt"), finding("secret/key.txt"))]);
  const ran = await review(place, server, ["--deny-read", "secret"]);
  expect(noticesOf(ran)).toContain("Not read: secret/key.txt (hidden), secret/moved.txt (hidden)");
  // Its fingerprint would tell of the line.
  expect(ran.end.output).toMatchObject({ findings: [{ path: "a.txt" }] });
  expect(JSON.stringify(server.requests[0]?.body)).not.toMatch(/(new|moved) key/);
  place.git("checkout", "-q", "a.txt");
  const none = await review(place, server, ["--deny-read", "secret"]);
  expect([none.end.exit, none.end.output, server.requests.length]).toEqual([0, { findings: [], summary: "" }, 1]);
});

test("the user's hooks on the start, the prompt and the end of the turn run for a review", async () => {
  await using place = makeRepository();
  place.write("a.txt", "changed\n");
  await using server = await startModelServer([found()]);
  for (const on of ["session.start", "prompt"]) {
    configure(place, { hooks: [{ on, command: "exit 2" }] });
    const { end } = await review(place, server);
    expect([end.exit, end.error?.code, server.requests.length]).toEqual([1, "hook", 0]);
  }
  configure(place, { hooks: [{ on: "turn.end", command: "exit 7" }] });
  const ran = await review(place, server);
  expect([ran.end.exit, noticesOf(ran).filter((line) => /turn\.end.*exit/s.test(line)).length]).toEqual([0, 1]);
});

test("a review that is stopped has no findings, and says so", async () => {
  await using place = makeRepository();
  place.write("a.txt", "x\n");
  await using server = await startModelServer([call("Read", { path: "a.txt" }), hang()]);
  const child = start(place, ["review", "--output", "jsonl", ...using(server), "-o", "../review.txt"]);
  const run = follow(child);
  await server.nextRequest();
  await server.nextRequest();
  child.kill("SIGINT");
  const ran = await run.finished();
  expect([ran.end.status, ran.end.exit, ran.end.text, ran.end.output]).toEqual(["cancelled", 130, "", undefined]);
  expect(noticesOf(ran)).toContain("The review ended early, so there are no findings");
  expect(existsSync(join(place.project, "../review.txt"))).toBe(false);
  expect(ran.events.filter(({ type }) => type === "turn.end")).toMatchObject([{ reason: "cancelled" }]);
});

test("a file that has become a link does not shift what is said of others", async () => {
  await using place = makeRepository({ "a.txt": "x\n", "b.png": "was text\n", "c.txt": "x\n" });
  place.git("rm", "-q", "a.txt");
  symlinkSync("c.txt", join(place.project, "a.txt"));
  place.write("b.png", new Uint8Array([0, 1, 2]));
  place.write("c.txt", "changed\n");
  await using server = await startModelServer([found(finding("c.txt"))]);
  const ran = await review(place, server);
  expect(noticesOf(ran)).toContain("Not read: b.png (binary)");
  expect(askedOf(server.requests[0])).toContain("+changed\n");
  expect(askedOf(server.requests[0])).toContain(
    "The changed files:\n- a.txt\n- c.txt\n\nChanged too, and not shown here:\n- b.png: binary\n",
  );
  expect(askedOf(server.requests[0])).not.toContain("Binary files");
});

test("the work tree as it is before the reviewer begins is what is reviewed", async () => {
  await using place = makeRepository();
  place.write("a.txt", "before\n");
  await using server = await startModelServer(async () => {
    place.write("a.txt", "after\nmore\n");
    return found(finding("a.txt", { end_line: 2 }));
  });
  const { end } = await review(place, server);
  expect(end.output).toMatchObject({ findings: [{ end_line: 1 }] });
  expect(place.git("status", "--porcelain")).toBe(" M a.txt\n");
});

test("another work tree of a repository has the branches, and the earlier places of its own HEAD and of theirs", async () => {
  await using place = makeRepository();
  place.git("worktree", "add", "-q", "-b", "side", "tree");
  place.write("tree/a.txt", "changed\n");
  place.git("-C", "tree", "commit", "-qam", "second");
  await using server = await startModelServer(() => found(finding("a.txt")));
  for (const args of [
    ["--base", "main"],
    ["--base", "HEAD@{1}"],
    ["--base", "side@{1}"],
    ["--commit", "side"],
  ]) {
    const { end } = await review(place, server, ["-C", "tree", ...args]);
    expect(end.output, args.join(" ")).toMatchObject({ findings: [{ path: "a.txt" }] });
  }
});

test("a repository in the middle of a merge, with a submodule and without a commit, can be reviewed", async () => {
  await using place = makeRepository();
  place.git("checkout", "-q", "-b", "other");
  place.write("a.txt", "theirs\n");
  place.git("commit", "-qam", "theirs");
  place.git("checkout", "-q", "main");
  place.write("a.txt", "ours\n");
  place.git("commit", "-qam", "ours");
  expect(() => place.git("merge", "-q", "other")).toThrow();
  place.git("init", "-q", "sub");
  place.write("sub/inner.txt", "x\n");
  place.git("-C", "sub", "add", "-A");
  place.git("-C", "sub", "commit", "-qm", "x");
  mkdirSync(join(place.project, "fresh"));
  place.git("init", "-q", "fresh");
  place.write("fresh/first.txt", "x\n");
  await using server = await startModelServer([found(finding("a.txt")), found(finding("first.txt"))]);
  expect((await review(place, server)).end.output).toMatchObject({ findings: [{ path: "a.txt" }] });
  expect(askedOf(server.requests[0])).toContain("+<<<<<<< ");
  expect((await review(place, server, ["-C", "fresh"])).end.output).toMatchObject({
    findings: [{ path: "first.txt" }],
  });
});
