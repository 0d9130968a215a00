import { expect, test } from "bun:test";
import { compose } from "../../../lib/sandbox/policy/compose.ts";
import type { Policy, ResourceLimits } from "../../../lib/sandbox/policy/policy.ts";
import { whyHidden, whyUnwritable } from "../../../lib/trust/path.ts";
import { seeded } from "../../support/random.ts";

const random = seeded(20_25);
const below = (count: number) => Math.floor(random() * count);
const oneOf = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T;
const some = <T>(most: number, make: () => T) => Array.from({ length: below(most + 1) }, make);

/** Few names, so that rules meet; capitals, since refusals do not tell them apart and permissions do. */
const names = ["a", "b", "A", ".git", ".koda", "tmp", "É", "E\u0301"];
const tops = ["", "", "/tmp", "/dev/shm", "/p"];
const path = () => `${oneOf(tops)}${some(4, () => `/${oneOf(names)}`).join("")}` || "/";

const limits = (): ResourceLimits => ({
  ...(random() < 0.5 && { processes: 1 + below(9) }),
  ...(random() < 0.5 && { memoryBytes: 1 + below(9) }),
});

function anyPolicy(): Policy {
  return {
    root: path(),
    home: "/home",
    tmp: "/t",
    privateTmp: random() < 0.5,
    write: some(4, path),
    readonly: some(2, path),
    hide: some(4, path),
    show: some(3, path),
    copies: [],
    allowGit: random() < 0.5,
    network: oneOf(["none", "allowlist", "open"] as const),
    limits: limits(),
  };
}

const reads = (probe: string, policy: Policy) => whyHidden(probe, policy) === undefined;
const writes = (probe: string, policy: Policy) => reads(probe, policy) && whyUnwritable(probe, policy) === undefined;

type Round = { parent: Policy; child: Policy; probes: readonly string[] };

/** Every place that a rule names is asked about, as is something in it, beside any others. */
function rounds(count: number): Round[] {
  return Array.from({ length: count }, () => {
    const [parent, child] = [anyPolicy(), anyPolicy()];
    const named = [parent, child].flatMap(({ hide, show, write, readonly }) => [
      ...hide,
      ...show,
      ...write,
      ...readonly,
    ]);
    const inside = named.map((rule) => `${rule === "/" ? "" : rule}/${oneOf(names)}`);
    return { parent, child, probes: [...named, ...inside, ...Array.from({ length: 10 }, path)] };
  });
}

const many = rounds(2_500);

test("a composition allows what both allow, and nothing that one of them denies", () => {
  for (const { parent, child, probes } of many) {
    const both = compose(parent, child);
    for (const probe of probes) {
      const allowed = { reads: reads(probe, both), writes: writes(probe, both) };
      const expected = {
        reads: reads(probe, parent) && reads(probe, child),
        writes: writes(probe, parent) && writes(probe, child),
      };
      if (!Bun.deepEquals(allowed, expected))
        expect({ parent, child, probe, allowed }).toEqual({ parent, child, probe, allowed: expected });
    }
  }
});

test("a policy composed with itself stays what it is", () => {
  for (const { parent, probes } of many) {
    const same = compose(parent, parent);
    for (const probe of probes)
      expect([reads(probe, same), writes(probe, same)]).toEqual([reads(probe, parent), writes(probe, parent)]);
    expect(same).toMatchObject({ network: parent.network, allowGit: parent.allowGit, limits: parent.limits });
  }
});

test("whoever is composed first, the same is allowed", () => {
  for (const { parent, child, probes } of many.slice(0, 500)) {
    const [one, other] = [compose(parent, child), compose(child, parent)];
    for (const probe of probes)
      expect([reads(probe, one), writes(probe, one)]).toEqual([reads(probe, other), writes(probe, other)]);
  }
});

test("the network, the limits and commits are those of the stricter one", () => {
  const plain = { ...anyPolicy(), limits: {} };
  const both = (a: Partial<Policy>, b: Partial<Policy>) => compose({ ...plain, ...a }, { ...plain, ...b });
  expect(both({ network: "open" }, { network: "none" }).network).toBe("none");
  expect(both({ network: "allowlist" }, { network: "open" }).network).toBe("allowlist");
  expect(both({ allowGit: true }, { allowGit: false }).allowGit).toBe(false);
  expect(both({ allowGit: true }, { allowGit: true }).allowGit).toBe(true);
  expect(both({ limits: { processes: 9, openFiles: 5 } }, { limits: { processes: 7, cpuSeconds: 1 } }).limits).toEqual({
    processes: 7,
    openFiles: 5,
    cpuSeconds: 1,
  });
});
