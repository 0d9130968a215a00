import { describe, expect, test } from "bun:test";
import { constants, copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binary, koda } from "../support/koda.ts";
import { makePlace, type Place } from "../support/place.ts";
import { type Ran, runIn, spawnIn } from "../support/run.ts";
import { processesNaming } from "../support/shell.ts";
import { until } from "../support/until.ts";

type Options = Parameters<typeof koda>[2];

async function sandbox(place: Place, args: readonly string[], options?: Options): Promise<Ran> {
  return await koda(place, ["sandbox", ...args], options);
}

/** A number of seconds that no other process sleeps for. */
const longTime = () => `1000.${crypto.getRandomValues(new Uint32Array(1))[0]}`;

test("a shell that the sandbox hides is passed over", async () => {
  await using place = makePlace();
  // The place is in /tmp, which is another one for commands.
  symlinkSync("/bin/sh", join(place.home, "bash"));
  const env = { PATH: `${place.home}:${place.env.PATH}` };
  const { exit, stdout } = await koda(place, ["sandbox", "--", "bash", "-c", "echo yes"], { env });
  expect({ exit, stdout }).toEqual({ exit: 0, stdout: "yes\n" });
});

test("koda's own program and git's settings are read-only in the project too", async () => {
  await using place = makePlace({ "xdg/git/config": "", global: "", ".jj/repo": "" }, "/var/tmp");
  const at = (path: string) => join(place.project, path);
  for (const directory of ["tools", "node_modules/.bin"]) mkdirSync(at(directory), { recursive: true });
  copyFileSync(binary, at("tools/koda"), constants.COPYFILE_FICLONE);
  symlinkSync("../../tools/koda", at("node_modules/.bin/koda"));
  const attack = `for f in tools/koda node_modules/.bin/koda; do rm -f $f && echo "$f is gone"; done
for f in xdg/git/config global .jj/repo tools/other; do echo evil >> $f && echo "$f is written"; done; true`;
  const run = async (args: readonly string[]) => {
    const env = { ...place.env, XDG_CONFIG_HOME: at("xdg"), GIT_CONFIG_GLOBAL: at("global") };
    const child = Bun.spawn([at("tools/koda"), "sandbox", ...args, "--", "sh", "-c", attack], {
      cwd: place.project,
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return await child.stdout.text();
  };
  expect(await run([])).toBe("tools/other is written\n");
  expect(await run(["--no-sandbox"])).toBe(
    ["tools/koda is gone", "node_modules/.bin/koda is gone"]
      .concat(["xdg/git/config", "global", ".jj/repo", "tools/other"].map((path) => `${path} is written`))
      .map((line) => `${line}\n`)
      .join(""),
  );
});

describe("the exit code is the command's", () => {
  const rows: readonly [command: readonly string[], exit: number][] = [
    [["true"], 0],
    [["false"], 1],
    [["sh", "-c", "exit 42"], 42],
    [["sh", "-c", "exit 126"], 126],
    [["sh", "-c", "kill -TERM $$"], 143],
    [["sh", "-c", "kill -KILL $$"], 137],
    [["sh", "-c", "yes | head -1 >/dev/null"], 0],
  ];
  for (const [command, exit] of rows)
    test(command.join(" "), async () => {
      await using place = makePlace();
      expect(await sandbox(place, ["--", ...command])).toEqual({ exit, signal: null, stdout: "", stderr: "" });
      expect(await sandbox(place, ["--no-sandbox", "--", ...command])).toMatchObject({ exit });
    });
});

describe("a command that cannot begin is told as a shell tells it", () => {
  const rows: readonly [program: string, exit: number, stderr: string][] = [
    ["no-such-program", 127, 'there is no program "no-such-program" on the PATH'],
    ["./missing", 127, 'there is no program "./missing"'],
    ["./plain", 126, "is not an executable file"],
    ["./directory", 126, "is not an executable file"],
    ["./headless", 126, "nor a script whose first line names an interpreter"],
    ["../outside", 127, "commands find no such program"],
  ];
  for (const [program, exit, stderr] of rows)
    test(program, async () => {
      await using place = makePlace({ plain: "", headless: "echo x", "directory/file": "" });
      const script = { mode: 0o755 } as const;
      writeFileSync(join(place.project, "headless"), "echo x", script);
      writeFileSync(join(place.project, "../outside"), "#!/bin/sh\n", script);
      await Bun.spawn(["chmod", "755", "headless"], { cwd: place.project }).exited;
      const ran = await sandbox(place, ["--", program]);
      expect(ran).toMatchObject({ exit, stdout: "" });
      expect(ran.stderr).toMatch(/^koda: .*\n$/);
      expect(ran.stderr).toContain(stderr);
    });
});

test("streams are the command's own", async () => {
  await using place = makePlace();
  const ran = await sandbox(place, ["--", "sh", "-c", "cat; echo err >&2"], { stdin: "in\n" });
  expect(ran).toEqual({ exit: 0, signal: null, stdout: "in\n", stderr: "err\n" });
});

test("the environment is that of a run's commands", async () => {
  await using place = makePlace();
  const env = { OPENAI_API_KEY: "sk-secret-secret", NICE: "nice", OTHER: "other", BUN_OPTIONS: "", LANG: "C.UTF-8" };
  const { stdout, stderr } = await sandbox(place, ["--allow-env=NICE,OPENAI_API_KEY", "--", "env"], { env });
  expect(stdout).toContain("NICE=nice\n");
  expect(stdout).toMatch(/^TMPDIR=\/./m);
  expect(stdout).toMatch(/^KODA_CALL=/m);
  expect(stdout).not.toMatch(/OPENAI_API_KEY|OTHER|BUN_OPTIONS/);
  expect(stderr).toBe(
    'koda: warning: "OPENAI_API_KEY" is not passed on to commands: it holds the key of a provider or of an MCP server\n',
  );
});

test("a token that is a key only for a provider that is named can be passed on", async () => {
  await using place = makePlace();
  const env = { HF_TOKEN: "hf-0123456789" };
  const args = ["--allow-env=HF_TOKEN", "--", "env"];
  expect((await sandbox(place, args, { env })).stdout).toContain("HF_TOKEN=hf-0123456789\n");
  place.write("../home/.config/koda/config.json", JSON.stringify({ providers: { huggingface: { wire: "chat" } } }));
  expect((await sandbox(place, args, { env })).stdout).not.toContain("hf-0123456789");
});

describe("the policy is that of a run's commands", () => {
  type Row = { name: string; args: readonly string[]; script: string; allowed?: true; written?: string };
  const rows: readonly Row[] = [
    { name: "the project is written", args: [], script: "echo x > new", allowed: true, written: "new" },
    { name: "in mode plan it is not", args: ["--mode", "plan"], script: "echo x > new", written: "new" },
    { name: "nothing outside is written", args: [], script: "echo x > ../more/new", written: "../more/new" },
    {
      name: "but for what is allowed",
      args: ["--allow-write=../more"],
      script: "echo x > ../more/new",
      allowed: true,
      written: "../more/new",
    },
    { name: "a file can be read", args: [], script: "grep x file", allowed: true },
    { name: "but for what is denied", args: ["--deny-read=file"], script: "grep x file" },
    { name: "settings are read", args: ["--config", 'sandbox.hide=["file"]'], script: "grep x file" },
    { name: ".git may be made", args: [], script: "git init -q", allowed: true, written: ".git/HEAD" },
  ];
  for (const { name, args, script, allowed, written } of rows)
    test(name, async () => {
      await using place = makePlace({ file: "x\n" });
      mkdirSync(join(place.project, "../more"));
      const { exit } = await sandbox(place, [...args, "--", "sh", "-c", script]);
      expect(exit === 0).toBe(allowed ?? false);
      if (written !== undefined) expect(existsSync(join(place.project, written))).toBe(allowed ?? false);
    });

  test("and with --no-sandbox there is none, which is said", async () => {
    await using place = makePlace();
    const { exit, stderr } = await sandbox(place, ["--no-sandbox", "--", "sh", "-c", "echo x > ../new"]);
    expect(exit).toBe(0);
    expect(existsSync(join(place.project, "../new"))).toBe(true);
    expect(stderr).toBe("koda: warning: commands run with your own rights: the sandbox is off (--no-sandbox)\n");
  });
});

test("--json says first what is enforced", async () => {
  await using place = makePlace();
  const script = "echo out; echo err >&2";
  const { stdout, stderr } = await sandbox(place, ["--json", "--deny-read=secret", "--", "sh", "-c", script]);
  expect(stdout).toBe("out\n");
  const [first = "", ...rest] = stderr.split("\n");
  expect(rest).toEqual(["err", ""]);
  const { project } = place;
  const said = JSON.parse(first) as Record<string, unknown>;
  expect(said).toMatchObject({ root: project, filesystem: "confined", write: expect.arrayContaining([project]) });
  expect(said).toMatchObject({ backend: expect.any(String), network: expect.any(String), allow_git: false });
  expect(said["readonly"]).toBeArray();
  expect(said["hide"]).toContain(join(project, "secret"));
  expect(said["missed"]).toBeArray();
  expect(said["notes"]).toBeArray();
});

test("that --allow-git opens nothing is said where .git is no directory", async () => {
  await using place = makePlace({ ".git": "gitdir: ../main/.git/worktrees/project\n" });
  const { stderr } = await sandbox(place, ["--allow-git", "--", "true"]);
  expect(stderr).toMatch(/^koda: warning: --allow-git opens only a \.git directory, .* a linked work tree .*\n$/);
  expect((await sandbox(place, ["--", "true"])).stderr).toBe("");
});

test("what the project's own configuration may not say is named", async () => {
  await using place = makePlace({ ".koda/config.json": '{ "egress": { "mode": "open", "deny": ["a.test"] } }' });
  const { exit, stderr } = await sandbox(place, ["--", "true"]);
  expect({ exit, stderr }).toEqual({
    exit: 0,
    stderr:
      'koda: warning: Ignored "egress.mode" in .koda/config.json: without --trust-project a project can only tighten settings\n',
  });
});

describe("what is wrong before the command begins is one message", () => {
  const rows: readonly [args: readonly string[], exit: number, stderr: string][] = [
    [[], 2, "CMD is missing: koda sandbox -- CMD"],
    [["ls", "-l"], 2, "koda sandbox -- ls -l"],
    [["--mode", "loud", "--", "true"], 2, "plan, safe or auto"],
    [["-C", "missing", "--", "true"], 2, 'Cannot work in the project "missing"'],
    [["--allow-write=missing", "--", "true"], 2, "--allow-write"],
    [["--config", "nonsense=1", "--", "true"], 2, "nonsense"],
  ];
  for (const [args, exit, stderr] of rows)
    test(args.join(" ") || "nothing", async () => {
      await using place = makePlace();
      const ran = await sandbox(place, args);
      expect(ran).toMatchObject({ exit, stdout: "" });
      expect(ran.stderr.match(/^koda: /gm)).toHaveLength(1);
      expect(ran.stderr).toContain(stderr);
    });
});

describe("what a command leaves running is gone when koda is", () => {
  for (const flags of [[], ["--no-sandbox"]])
    test(flags.join(" ") || "in the sandbox", async () => {
      await using place = makePlace();
      const time = longTime();
      const script = `sleep ${time} & setsid sleep ${time} & env -i setsid sleep ${time} & sleep 0.1; exit 3`;
      expect(await sandbox(place, [...flags, "--", "sh", "-c", script])).toMatchObject({ exit: 3 });
      expect(processesNaming(time)).toEqual([]);
    });
});

test("what git or koda would obey is put aside or named, as after a run's command", async () => {
  await using place = makePlace();
  const { exit, stderr } = await sandbox(place, ["--", "git", "init", "-q", "sub"]);
  expect(exit).toBe(0);
  expect(stderr).toContain('koda: A command made "sub/.git"');
});

/** Without a terminal, wherever the test runs: signals are then handed on, and not the terminal's own affair. */
const startAlone = (place: Place, args: readonly string[]) =>
  spawnIn(place, [binary, "sandbox", ...args], { detached: true });

/** Waits for the command's first words; gives what it says after them. */
async function begun(child: { stdout: ReadableStream<Uint8Array> }): Promise<{ rest(): Promise<string> }> {
  const reader = child.stdout.getReader();
  await reader.read();
  return {
    async rest() {
      let text = "";
      for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read())
        text += Buffer.from(value ?? []).toString();
      return text;
    },
  };
}

describe("a signal to koda reaches the command", () => {
  const rows = [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
  ] as const;
  for (const [signal, exit] of rows)
    for (const flags of [[], ["--no-sandbox"]])
      test([signal, ...flags].join(" "), async () => {
        await using place = makePlace();
        const time = longTime();
        const child = startAlone(place, [...flags, "--", "sh", "-c", `ulimit -c 0; echo go; exec sleep ${time}`]);
        await begun(child);
        process.kill(child.pid, signal);
        expect(await child.exited).toBe(exit);
        expect(processesNaming(time)).toEqual([]);
      });

  test("which may have its own way to end", async () => {
    await using place = makePlace();
    const script = `trap 'echo ending; exit 7' TERM; trap : INT; echo go; while :; do sleep 0.1; done`;
    const child = startAlone(place, ["--", "sh", "-c", script]);
    const { rest } = await begun(child);
    for (const signal of ["SIGINT", "SIGINT", "SIGTERM"] as const) process.kill(child.pid, signal);
    expect(await rest()).toBe("ending\n");
    expect(await child.exited).toBe(7);
  });
});

test("nothing is left when koda is killed", async () => {
  await using place = makePlace();
  const time = longTime();
  const child = startAlone(place, ["--", "sh", "-c", `setsid sleep ${time} & sleep ${time} & echo go; sleep ${time}`]);
  await begun(child);
  expect(processesNaming(time)).not.toEqual([]);
  process.kill(child.pid, "SIGKILL");
  await child.exited;
  await until(() => processesNaming(time).length === 0);
});

test("a reader that goes away ends a command as it would without koda", async () => {
  await using place = makePlace();
  const line = `"$0" sandbox -- yes | head -1; echo "\${PIPESTATUS[0]}"`;
  expect((await runIn(place, ["bash", "-c", line, binary])).stdout).toBe("y\n141\n");
});
