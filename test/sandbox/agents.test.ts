import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Policy, withoutEffects } from "../../lib/sandbox/policy/policy.ts";
import { fingerprint } from "../support/fingerprint.ts";
import { makePlace, type Place } from "../support/place.ts";
import { type OpenTier, openTier, whyMissing } from "../support/tiers.ts";
import { runGit } from "../support/worktree.ts";
import { repositoryWrites, writes } from "../support/writes.ts";

/**
 * Commands of an agent that may only read, beside others that may write: nothing that it does has an effect, whatever
 * its commands were taken for before they ran.
 */
const all = [...writes, ...repositoryWrites];

const tiers = ["namespaces", "bwrap", "landlock"] as const;

/** With places for proxies, of which nothing but their being there matters. */
const circumstances = { ports: [3128, 1080], endpoints: [3128, 1080].map((port) => ({ address: "127.0.0.1", port })) };

for (const name of tiers) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name, somewhere);
  describe.skipIf(missing !== undefined)(`${name}${missing ? ` (${missing})` : ""}: an agent that reads`, () => {
    let place: Place;
    let tier: OpenTier;
    let policy: Policy;
    const ownTemporary = name === "landlock" ? {} : { TMPDIR: "/dev/shm" };
    beforeAll(async () => {
      place = placeWithRepositories();
      tier = await openTier(name, place, { circumstances });
      policy = withoutEffects(tier.policy);
    }, 30_000);
    afterAll(async () => {
      await tier[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    });

    test(`changes nothing in ${all.length} ways, each of which changes something otherwise`, async () => {
      const look = () => ({
        ...fingerprint(dirname(place.project), ["home", "project"], { times: true }),
        ...fingerprint(tier.policy.tmp, ["."], { times: true }),
      });
      const before = look();
      expect((await tier.run(tryAll, { policy, env: ownTemporary })).exit).toBe(0);
      expect(look()).toEqual(before);

      await tier.run(tryAll);
      const after = look();
      const changed = Object.keys({ ...before, ...after }).filter((path) => before[path] !== after[path]);
      const bites = name === "landlock" ? writes : all;
      const harmless = bites.filter((_, index) => !changed.some((path) => path.startsWith(`project/${index}/`)));
      expect(harmless.map(([by]) => by)).toEqual([]);
    }, 30_000);

    test("reads what others left in the directory for temporary files, and leaves nothing there", async () => {
      const list = async () => (await tier.run('ls -R "$TMPDIR"; cat "$TMPDIR/log"')).stdout;
      await tier.run('echo log > "$TMPDIR/log" && mkdir -p "$TMPDIR/d"');
      const before = await list();
      const ways = ['echo x > "$T/made"', 'ln -s there "$T/d/made"', 'rm "$T/log"', 'mkdir "$T/made"', '> "$T/log"'];
      const each = ways.map((way) => `'${way}'`).join(" ");
      const command = `T=$TMPDIR; cat "$T/log"; for way in ${each}; do eval "$way" && echo "$way"; done`;
      expect(await tier.run(command, { policy })).toMatchObject({ stdout: "log\n" });
      expect([before, await list()]).toEqual([expect.stringMatching(/\nlog\n$/), before]);
    });

    if (name !== "landlock")
      test("has shared memory of its own for temporary files", async () => {
        const command = "f=$(mktemp) && echo x > $f && cat $f; cat < <(echo y)";
        const ran = await tier.run(["bash", "-c", command], { policy, env: ownTemporary });
        expect(ran).toMatchObject({ exit: 0, stdout: "x\ny\n" });
      });

    test("reaches no server and no process of others", async () => {
      const server = tier.start(["/usr/bin/python3", "-IS", "-c", listening, place.project]);
      const [, port, pid] = await server.prints(/^listens on (\d+) as (\d+)$/m);
      const reach = async (rules: { policy?: Policy }) =>
        (await tier.run(["/usr/bin/python3", "-IS", "-c", reaching, port ?? "", pid ?? ""], rules)).stdout;
      expect(await reach({ policy })).toBe("unix refused\ntcp refused\nroot refused\nmemory refused\nsignal refused\n");
      expect(await reach({})).toContain("unix reached\n");
      await server.stop();
      expect(server.heard.stdout).not.toContain("signal");
      expect(server.heard.stdout.split("asked").length - 1).toBe(name === "namespaces" ? 2 : 1);
    });
  });
}

/** It says when somebody connects, by its socket beside the project's files or by its port, and when it is signalled. */
const listening = `
import os, selectors, signal, socket, sys
signal.signal(signal.SIGUSR1, lambda *_: print("signal", flush=True))
unix, tcp = socket.socket(socket.AF_UNIX), socket.socket()
unix.bind(os.environ["TMPDIR"] + "/s")
select = selectors.DefaultSelector()
try: tcp.bind(("127.0.0.1", 0)); tcp.listen(); select.register(tcp, 1)
except OSError: pass
unix.listen(); select.register(unix, 1)
print("listens on", tcp.getsockname()[1], "as", os.getpid(), flush=True)
while True:
    for key, _ in select.select(): key.fileobj.accept()[0].send(b"x"); print("asked", flush=True)`;

const reaching = `
import os, signal, socket, sys
port, pid = int(sys.argv[1]), int(sys.argv[2])
def reach(name, action):
    try: action(); print(name, "reached")
    except OSError: print(name, "refused")
def ask(family, address):
    with socket.socket(family) as s: s.settimeout(5); s.connect(address); s.recv(1)
reach("unix", lambda: ask(socket.AF_UNIX, os.environ["TMPDIR"] + "/s"))
reach("tcp", lambda: ask(socket.AF_INET, ("127.0.0.1", port)))
own = os.getpid() == pid
reach("root", lambda: os.listdir(f"/proc/{pid}/root/") if not own else os.listdir("/nothing"))
reach("memory", lambda: open(f"/proc/{pid}/mem", "r+b") if not own else os.listdir("/nothing"))
reach("signal", lambda: os.kill(pid, signal.SIGUSR1) if not own else os.listdir("/nothing"))`;

/** Each way in a directory of its own. */
const tryAll =
  "for way in ways/*; do (cd ${way##*/} && timeout 10 bash ../$way); done >/dev/null 2>&1 </dev/null; true";

/** A repository for each of the ways. Not in /tmp, which commands may find replaced. */
function placeWithRepositories(): Place {
  const files = { "template/there": "there\n", "template/other": "other\n", "template/tracked": "one\n" };
  const place = makePlace(files, "/var/tmp");
  // Bun, which holds the tier, would keep compiled files in this home.
  place.env.BUN_RUNTIME_TRANSPILER_CACHE_PATH = "0";
  const template = join(place.project, "template");
  const git = (...args: string[]) => runGit(template, place.env, args);
  git("init", "-q", "--template=", "-b", "main");
  for (const [key, value] of Object.entries({ "user.name": "a", "user.email": "a@example.test", "gc.auto": "0" }))
    git("config", key, value);
  git("add", ".");
  git("commit", "-q", "-m", "one");
  for (const file of ["tracked", "untracked"]) writeFileSync(join(template, file), "two\n");
  for (const [index, [, command]] of all.entries()) {
    cpSync(template, join(place.project, String(index)), { recursive: true });
    place.write(`ways/${index}`, command);
  }
  return place;
}
