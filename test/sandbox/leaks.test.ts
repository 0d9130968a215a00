import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { dirname } from "node:path";
import { unlessRefused } from "../../lib/errors.ts";
import { makePlace, type Place } from "../support/place.ts";
import { type OpenTier, openTier, users, whyMissing } from "../support/tiers.ts";
import { until } from "../support/until.ts";

/** A command costs bubblewrap ten times as much. */
const many = { namespaces: 120, bwrap: 50, landlock: 120 } as const;
const atOnce = 8;

/** Every way in which a command ends, and what it may have used up to then. */
const commands = [
  "true",
  "exit 3",
  "kill -KILL $$",
  "echo out; echo err >&2",
  "yes | head -n100 | cat > /dev/null",
  'echo x > "$TMPDIR/x$$"; exec 5< "$TMPDIR/x$$"; rm "$TMPDIR/x$$"',
  "sleep 0 & sleep 0 & wait",
  "exec 3<> /dev/tcp/127.0.0.1/1",
  "no-such-program",
  "exec /no/such/program",
] as const;

for (const name of ["namespaces", "bwrap", "landlock"] as const) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name, somewhere, {});
  describe.skipIf(missing !== undefined)(`${name}${missing === undefined ? "" : ` (${missing})`}`, () => {
    test.each(users)(`${many[name]} commands leave nothing behind in koda, as %s`, async (user) => {
      await using place = makePlace({}, "/var/tmp");
      await using tier = await openTier(name, place, { user });
      // The first of their kind make what is there for all.
      await runAll(tier, 2 * atOnce);
      const before = await settled(tier, place);
      await runAll(tier, many[name]);
      await until(() => JSON.stringify(holdings(tier, place)) === JSON.stringify(before));
      expect(holdings(tier, place)).toEqual(before);
    });
  });
}

async function runAll(tier: OpenTier, count: number): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await tier.run(commands[next++ % commands.length] ?? "true");
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

type Holdings = {
  files: Record<string, number>;
  children: number;
  mounts: number;
  namespaces: number;
  names: string[];
};

/** What is held once nothing changes any more: what ended is noticed a moment later. */
async function settled(tier: OpenTier, place: Place): Promise<Holdings> {
  let last = "";
  await until(() => last === (last = JSON.stringify(holdings(tier, place))));
  return holdings(tier, place);
}

function holdings({ pid }: OpenTier, place: Place): Holdings {
  const base = dirname(place.project);
  return {
    files: filesOf(pid),
    children: childrenOf(pid).length,
    mounts: readFileSync(`/proc/${pid}/mountinfo`, "utf8").split("\n").length,
    namespaces: namespacesBelow(pid).size,
    names: readdirSync(base, { recursive: true, encoding: "utf8" }).sort(),
  };
}

/** koda keeps some of the programs that confine commands: what they see of a directory that others use may change. */
const keptPrograms = { kind: "/memfd:koda-sandbox (deleted)", most: 8 };

/** How many of each kind; pipes and sockets are all alike. */
function filesOf(pid: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    const target = unlessRefused(() => readlinkSync(`/proc/${pid}/fd/${name}`));
    if (target === undefined) continue;
    const kind = target.replace(/:\[\d+\]$/, "");
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  const programs = counts[keptPrograms.kind] ?? 0;
  if (programs <= keptPrograms.most) delete counts[keptPrograms.kind];
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => a.localeCompare(b)));
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const list = unlessRefused(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")) ?? "";
    return list.split(" ").filter(Boolean).map(Number);
  });
}

function namespacesBelow(pid: number): Set<string> {
  const found = new Set<string>();
  for (const member of [pid, ...childrenOf(pid)])
    for (const kind of ["user", "mnt", "pid", "net", "ipc", "uts"])
      found.add(unlessRefused(() => readlinkSync(`/proc/${member}/ns/${kind}`)) ?? kind);
  return found;
}
