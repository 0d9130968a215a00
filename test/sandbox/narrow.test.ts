import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Policy, readOnly } from "../../lib/sandbox/policy/policy.ts";
import { landlockAbi } from "../../lib/sandbox/abi.ts";
import { openLandlockTier } from "../../lib/sandbox/tiers/landlock/tier.ts";
import { openNamespacesTier } from "../../lib/sandbox/tiers/namespaces/tier.ts";
import type { TierOptions } from "../../lib/sandbox/tiers/tier.ts";
import { closePipe } from "../../lib/system/pipe.ts";
import type { CommandLine } from "../../lib/shell/program.ts";
import { hereArch } from "../support/assembled.ts";
import { fingerprint } from "../support/fingerprint.ts";
import { makePlace, type Place } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";
import { python } from "../support/stranger.ts";
import { everyUser, type OpenTier, openTier, whyMissing } from "../support/tiers.ts";
import { until } from "../support/until.ts";

const tiers = ["namespaces", "bwrap", "landlock"] as const;

const prelude = `
import ctypes, errno, os, resource, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def tried(action, *arguments):
    try: return action(*arguments) or "done"
    except OSError as error: return errno.errorcode[error.errno]
def asked(path):
    with socket.socket(socket.AF_UNIX) as s: s.connect(path); return s.recv(16).decode()
`;
const script = (text: string) => [python, "-IS", "-c", `${prelude}\n${text}`] as const;

/** A command that says "connected" to whoever connects. */
async function serving(tier: OpenTier, path: string): Promise<AsyncDisposable> {
  const server = tier.start([
    ...script(`
server = socket.socket(socket.AF_UNIX); server.bind(sys.argv[1]); server.listen(64); print("listens", flush=True)
while True: peer, _ = server.accept(); peer.send(b"connected"); peer.close()`),
    path,
  ]);
  await server.prints(/listens/);
  return { [Symbol.asyncDispose]: async () => void (await server.stop()) };
}

const [openat, renameat2] = process.arch === "arm64" ? [56, 276] : [257, 316];

type Way = readonly [by: string, command: CommandLine];

/** Every kind of change to a directory with two files, "there" and "other", by programs of all kinds. */
const changes: readonly Way[] = [
  ["a redirection", "echo x > made"],
  ["an appending one", "echo x >> there"],
  ["a grandchild that has detached itself", "setsid -w nohup sh -c 'echo x > made'"],
  ["dd", "dd if=/dev/zero of=made count=1"],
  ["cp, by another name of the file system", 'cp there "/proc/self/root$HERE/made"'],
  ["cp, into a directory that it has open", "exec 9< . && cp there /proc/self/fd/9/made"],
  ["what is open for reading", "exec 9< there && echo x > /proc/self/fd/9"],
  ["mkdir", "mkdir made"],
  ["ln -s", "ln -s there made"],
  ["ln", "ln there made"],
  ["mkfifo", "mkfifo made"],
  ["mv", "mv there made"],
  ["rm", "rm -f there"],
  ["truncate", "truncate -s 0 there"],
  ["sed -i", "sed -i s/t/x/ there"],
  ["a symlink in TMPDIR", 'l=$(mktemp -d)/l && ln -s "$HERE" "$l" && echo x > "$l/made"'],
  ["perl", ["perl", "-e", 'open(my $f, ">", "made") or exit 1']],
  [
    "perl's own system calls",
    ["perl", "-e", `my $name = "made"; exit(syscall(${openat}, -100, $name, 0101, 0644) < 0)`],
  ],
  ["python", script(`open("made", "w").close()`)],
  ["openat", script(`os.open("made", os.O_CREAT | os.O_WRONLY, dir_fd=os.open(".", os.O_RDONLY))`)],
  ["renameat2", script(`sys.exit(libc.syscall(${renameat2}, -100, b"there", -100, b"other", 2) != 0)`)],
  ["a unix socket", script(`socket.socket(socket.AF_UNIX).bind("made")`)],
];
/** Landlock knows neither modes nor times. */
const gaps: readonly Way[] = [
  ["chmod", "chmod 600 there"],
  ["touch", "touch -d @0 there"],
];

/** With places for proxies, of which nothing but their being there matters. */
const circumstances = { ports: [3128, 1080], endpoints: [3128, 1080].map((port) => ({ address: "127.0.0.1", port })) };

for (const { name, user } of tiers.flatMap((name) => everyUser.map((user) => ({ name, user })))) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name, somewhere, { user });
  describe.skipIf(missing !== undefined)(
    `${name}, as ${user}${missing ? ` (${missing})` : ""}: under a narrower policy`,
    () => {
      let place: Place;
      let tier: OpenTier;
      let plan: Policy;
      beforeAll(async () => {
        place = placeWith([...changes, ...gaps]);
        tier = await openTier(name, place, { user, circumstances });
        plan = readOnly(tier.policy);
      });
      afterAll(async () => {
        await tier[Symbol.asyncDispose]();
        await place[Symbol.asyncDispose]();
      });

      test.each(changes)("the project cannot be changed by %s", async (by, command) => {
        await expectHeld(by, command);
      });

      test.each(gaps)("the project cannot be changed by %s, or the notes say so", async (by, command) => {
        if (name === "landlock") expect(tier.backend.notes.join("\n")).toContain("modes, times");
        else await expectHeld(by, command);
      });

      test("the project can be read, and the directory for temporary files written", async () => {
        const command = 'cat there > "$TMPDIR/narrow" && cat "$TMPDIR/narrow"';
        const cwd = join(place.project, "dd");
        expect(await tier.run(command, { cwd, policy: plan })).toMatchObject({
          exit: 0,
          stdout: "there\n",
          stderr: "",
        });
      });

      test("sockets in the project are not connected to", async () => {
        const path = join(place.project, "socket");
        await using _ = await serving(tier, path);
        const ask = script(`print(tried(asked, ${JSON.stringify(path)}))`);
        expect(await tier.run(ask, { policy: plan })).toMatchObject({ stdout: "EACCES\n" });
        await until(() => tier.refusals.includes(`the unix socket "${path}"`));
        expect(await tier.run(ask)).toMatchObject({ stdout: "connected\n" });
      });

      test("files are hidden that others may read", async () => {
        const path = join(place.project, "mv");
        const policy = { ...plan, hide: [...plan.hide, path] };
        const read = script(`print(tried(open, ${JSON.stringify(join(path, "other"))}) != "EACCES")`);
        expect(await tier.run(read, { policy })).toMatchObject({ stdout: "False\n" });
        expect(await tier.run(read, { policy: plan })).toMatchObject({ stdout: "True\n" });
      });

      test("there is one directory to write, or the command is refused", async () => {
        const policy = { ...tier.policy, write: [join(place.project, "mkdir"), tier.policy.tmp] };
        const command = "echo x > mkdir/new && cat mkdir/new && echo x > ln/new";
        if (name === "bwrap") await expect(tier.run(command, { policy })).rejects.toThrow("other commands may move");
        else expect(await tier.run(command, { policy })).toMatchObject({ exit: expect.any(Number), stdout: "x\n" });
        expect(existsSync(join(place.project, "ln/new"))).toBe(false);
      });

      test("that asks for more than the workspace's there is no more", async () => {
        const outside = join(dirname(place.project), "home");
        const { hide } = tier.policy;
        const policy: Policy = {
          ...tier.policy,
          write: ["/", outside],
          hide: [],
          show: hide,
          network: "open",
          limits: {},
        };
        const ran = await tier.run(`echo x > ${outside}/made; cat ${outside}/.ssh/id; ulimit -u`, { policy });
        expect(ran).toMatchObject({ stdout: "8192\n" });
        expect(ran.stderr).toMatch(/(Read-only file system|Permission denied)\n.*Permission denied\n$/);
      });

      test("limits are lower, and a stricter network is none", async () => {
        const policy: Policy = { ...tier.policy, network: "none", limits: { openFiles: 32 } };
        const look = script(
          `print(resource.getrlimit(resource.RLIMIT_NOFILE)[1], tried(lambda: socket.socket().close()))`,
        );
        expect(await tier.run(look, { policy })).toMatchObject({ stdout: "32 EAFNOSUPPORT\n" });
        expect(await tier.run(look)).toMatchObject({ stdout: expect.stringMatching(/^\d{4,} done\n$/) });
      });

      test("a place in a repository that was found cannot be written, though a caller asks for it", async () => {
        const [repository, hooks] = ["touch", "touch/there"].map((path) => join(place.project, path)) as [
          string,
          string,
        ];
        tier.protect([repository]);
        const policy = { ...tier.policy, write: [hooks, tier.policy.tmp] };
        const ran = await tier.run(`echo x > "${hooks}"`, { policy });
        if (name === "landlock") expect(tier.backend.notes.join("\n")).toContain("what other tools run are not held");
        else expect(ran).toMatchObject({ exit: 1, stderr: expect.stringContaining("Read-only file system") });
      });

      test("each of two commands at a time keeps its own, ten times", async () => {
        const cwd = join(place.project, "ln -s");
        await using _ = await serving(tier, join(place.project, "s"));
        const command = script(`
for _ in range(5): print(tried(os.mkdir, sys.argv[1]), tried(asked, "../s")); tried(os.rmdir, sys.argv[1])`);
        const runAll = async (name: string) => {
          const [wide, narrow] = await Promise.all([
            tier.run([...command, `wide${name}`], { cwd }),
            tier.run([...command, `narrow${name}`], { cwd, policy: plan }),
          ]);
          return [wide.stdout, narrow.stdout];
        };
        const refused = name === "landlock" ? "EACCES" : "EROFS";
        const expected = ["done connected\n".repeat(5), `${refused} EACCES\n`.repeat(5)];
        for (let round = 0; round < 2; round++) {
          const pairs = await Promise.all(
            Array.from({ length: 5 }, async (_, index) => await runAll(`${round}${index}`)),
          );
          expect(pairs).toEqual(Array.from({ length: 5 }, () => expected));
        }
      });

      /** And the very same command changes it under the workspace's own policy. */
      async function expectHeld(by: string, command: CommandLine): Promise<void> {
        const cwd = join(place.project, by);
        const look = () => fingerprint(cwd, ["."], { times: true });
        const before = look();
        const options = { cwd, env: { HERE: cwd } };
        const held = await tier.run(command, { ...options, policy: plan });
        expect([held.exit, look()]).toEqual([expect.any(Number), before]);
        expect(held.exit).not.toBe(0);
        expect(await tier.run(command, options)).toMatchObject({ exit: 0 });
        expect(look()).not.toEqual(before);
      }
    },
  );
}

/** A directory in the project for each of the ways to change one. */
function placeWith(all: readonly Way[]): Place {
  const files = all.flatMap(([by]) => ["there", "other"].map((file) => [`${by}/${file}`, `${file}\n`]));
  const place = makePlace(Object.fromEntries(files), "/var/tmp");
  mkdirSync(join(place.home, ".ssh"));
  writeFileSync(join(place.home, ".ssh/id"), "secret");
  return place;
}

const openHere = {
  namespaces: async (policy: Policy, options: TierOptions) =>
    await openNamespacesTier(policy, options, { processes: true }),
  landlock: openLandlockTier,
};

for (const name of ["namespaces", "landlock"] as const) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name, somewhere);
  test.skipIf(missing !== undefined)(
    `${name}: a directory that is replaced by a symlink is not written through`,
    async () => {
      await using place = makePlace({ "src/file": "", "lib/file": "" }, "/var/tmp");
      const outside = join(place.home, "outside");
      mkdirSync(outside);
      const policy = policyOf(place);
      const options: TierOptions = {
        arch: hereArch,
        abi: landlockAbi(),
        ports: [],
        searchPath: "",
        onRefusal: () => {},
      };
      using backend = await openHere[name](policy, options);
      const narrower = { ...policy, write: ["src", "lib"].map((path) => join(place.project, path)) };
      const argv = ["/bin/sh", "-c", "echo x > lib/made; echo x > src/made"] as const;
      const run = async (meanwhile: () => void) => {
        const confined = backend.confine({ argv, cwd: place.project, env: {} }, { policy: narrower });
        meanwhile();
        const stdio = ["ignore", "ignore", "pipe", ...confined.descriptors] as const;
        const child = Bun.spawn([...confined.argv], { cwd: place.project, env: {}, stdio: [...stdio] });
        const said = await child.stderr.text();
        closePipe(confined.status);
        confined.release();
        return { said, exit: await child.exited };
      };
      expect(await run(() => {})).toEqual({ said: "", exit: 0 });
      const { said, exit } = await run(() => {
        renameSync(join(place.project, "src"), join(place.project, "moved"));
        symlinkSync(outside, join(place.project, "src"));
      });
      expect(said).toMatch(name === "landlock" ? /Permission denied/ : /openat2\(.*\/src\) failed, errno 040$/m);
      expect([exit === 0, readdirSync(outside)]).toEqual([false, []]);
    },
  );
}
