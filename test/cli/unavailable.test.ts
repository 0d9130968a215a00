import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname } from "node:path";
import type { DoctorCheck } from "../../cmd/checks.ts";
import type { Missed } from "../../lib/sandbox/missed.ts";
import { asInDocker, type Denials, programWithout } from "../support/denied.ts";
import { binary } from "../support/koda.ts";
import { makePlace, type Place } from "../support/place.ts";
import { type Ran, runIn } from "../support/run.ts";

/**
 * Machines on which koda cannot have its strongest sandbox, each made of this one: by a filter around koda, or in
 * namespaces of the test's own, whose settings are nobody else's.
 */
type Machine = { name: string; made: Denials | string; backend: RegExp; missed?: MissedHere };
type MissedHere = { tier: string; reason: RegExp; fix: RegExp };

const { EPERM, EACCES, ENOSYS } = constants.errno;
const mounts = { mount: EPERM, open_tree: EPERM, move_mount: EPERM, mount_setattr: EPERM } as const;
const noNamespaces = "echo 0 > /proc/sys/user/max_user_namespaces";

const machines: readonly Machine[] = [
  {
    name: "with Docker's default seccomp profile",
    made: asInDocker,
    backend: /^landlock$/,
    missed: { tier: "namespaces", reason: /seccomp .*unshare\(user, net\): EPERM/, fix: /seccomp=unconfined/ },
  },
  {
    name: "with Docker's AppArmor profile",
    made: { mount: EACCES },
    backend: /^landlock$/,
    missed: { tier: "namespaces", reason: /docker-default/, fix: /--security-opt apparmor=unconfined/ },
  },
  {
    name: "whose kernel lacks the newer calls about mounts",
    made: { open_tree: ENOSYS, move_mount: ENOSYS, mount_setattr: ENOSYS },
    backend: /^(bwrap|landlock)$/,
    missed: { tier: "namespaces", reason: /does not have all.*ENOSYS/, fix: /Linux 5\.13/ },
  },
  { name: "that lets nobody have a file in memory", made: { memfd_create: EPERM }, backend: /^namespaces$/ },
  {
    name: "that executes no file in memory",
    made: "echo 2 > /proc/sys/vm/memfd_noexec",
    backend: /^namespaces$/,
  },
  {
    name: "that allows no user namespaces",
    made: noNamespaces,
    backend: /^landlock$/,
    missed: { tier: "namespaces", reason: /max_user_namespaces is 0/, fix: /sysctl user\.max_user_namespaces=/ },
  },
  {
    name: "that has no bubblewrap either",
    made: `${noNamespaces}; for place in $(which -a bwrap); do mount --bind /dev/null "$place"; done`,
    backend: /^landlock$/,
    missed: { tier: "bwrap", reason: /not installed/, fix: /bubblewrap/ },
  },
  {
    name: "whose /proc is masked",
    made: "mount -t tmpfs none /proc/fs",
    backend: /^namespaces$/,
    missed: { tier: "namespaces", reason: /masked.*mount\(\/proc\): EPERM/, fix: /systempaths=unconfined/ },
  },
];

/** Neither namespaces of any kind nor Landlock. */
const nothing = { unshare: EPERM, ...mounts, landlock_create_ruleset: ENOSYS } as const;

const unshare = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
const hasNamespaces = Bun.spawnSync([...unshare, "true"]).exitCode === 0;

/** The beginning of a command line that runs on such a machine. */
function on(made: Machine["made"], place: Place): readonly string[] {
  if (typeof made !== "string") return [programWithout(made, dirname(place.project))];
  return [...unshare, "sh", "-c", `${made}; exec "$@"`, "sh"];
}

function run(place: Place, made: Machine["made"], args: readonly string[]): Promise<Ran> {
  return runIn(place, [...on(made, place), binary, ...args], { env: { KODA_MODEL: "demo" } });
}

async function doctor(place: Place, made: Machine["made"]): Promise<{ check: DoctorCheck; exit: number | null }> {
  const { stdout, exit } = await run(place, made, ["doctor", "--json"]);
  const { checks } = JSON.parse(stdout) as { checks: DoctorCheck[] };
  const check = checks.find(({ name }) => name === "sandbox");
  if (check === undefined) throw new Error("doctor has nothing to say of the sandbox");
  return { check, exit };
}

describe.skipIf(!hasNamespaces).concurrent("on a machine", () => {
  for (const { name, made, backend, missed } of machines) {
    test(`${name} doctor says what there is, why it is no more, and what would help`, async () => {
      await using place = makePlace();
      const { check, exit } = await doctor(place, made);
      expect(exit).toBe(0);
      expect(check.backend).toMatch(backend);
      expect(check.status).toBe(missed === undefined ? "ok" : "warn");
      const found = check.missed?.find(({ tier }) => tier === missed?.tier);
      expect(found?.reason ?? "").toMatch(missed?.reason ?? /^$/);
      expect(found?.fix ?? "").toMatch(missed?.fix ?? /^$/);
      for (const part of [found?.reason ?? "", found?.fix ?? "", ...(check.notes ?? [])])
        expect(check.message).toContain(part);
    });

    test(`${name} commands are confined all the same`, async () => {
      await using place = makePlace();
      const script = "echo x > inside; echo x > ../outside; exit 3";
      const { stderr, exit } = await run(place, made, ["sandbox", "--json", "--", "sh", "-c", script]);
      expect(exit).toBe(3);
      const said = JSON.parse(stderr.split("\n")[0] ?? "") as { backend: string; missed: Missed[] };
      expect(said.backend).toMatch(backend);
      expect(said.missed.length > 0).toBe(missed !== undefined);
      expect(await Bun.file(`${place.project}/inside`).text()).toBe("x\n");
      expect(await Bun.file(`${place.project}/../outside`).exists()).toBe(false);
    });
  }

  for (const { name, made } of machines)
    test(`${name} a command that cannot begin is koda's to explain`, async () => {
      await using place = makePlace();
      const tool = `${place.home}/.ssh/tool`;
      mkdirSync(dirname(tool));
      writeFileSync(tool, "#!/bin/sh\n", { mode: 0o755 });
      const { stdout, stderr, exit } = await run(place, made, ["sandbox", "--", tool]);
      expect(stdout).toBe("");
      expect(stderr).toMatch(/^koda: Cannot run ".*": commands (find no such program|may not execute it).*\n$/);
      expect([126, 127]).toContain(exit ?? -1);
    });

  test("with nothing at all a run does not begin, and no command does", async () => {
    await using place = makePlace();
    const { check, exit } = await doctor(place, nothing);
    expect(exit).toBe(1);
    expect(check).toMatchObject({ status: "fail", backend: "none" });
    expect(check.missed?.map(({ tier }) => tier)).toEqual([
      "namespaces",
      "namespaces without a process namespace",
      "bwrap",
      "landlock",
    ]);
    for (const args of [
      ["exec", "x"],
      ["exec", "--mode", "plan", "--verify", "true", "x"],
      ["sandbox", "--", "true"],
      ["sandbox", "--mode", "plan", "--", "true"],
    ]) {
      const { stdout, stderr, exit } = await run(place, nothing, args);
      expect({ exit, stdout }).toEqual({ exit: 7, stdout: "" });
      expect(stderr).toContain("no sandbox works here");
      expect(stderr).toContain("Landlock");
    }
    expect(await run(place, nothing, ["sandbox", "--no-sandbox", "--", "true"])).toMatchObject({ exit: 0 });
  });
});
