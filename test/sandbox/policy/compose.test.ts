import { expect, test } from "bun:test";
import { compose } from "../../../lib/sandbox/policy/compose.ts";
import type { Policy, ResourceLimits } from "../../../lib/sandbox/policy/policy.ts";
import { whyHidden, whyUnwritable } from "../../../lib/trust/path.ts";
import { seeded } from "../../support/random.ts";

const random = seeded(20_25);
const below = (count: number) => Math.floor(random() * count);
const oneOf = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T;
const some = <T>(most: number, make: () => T) => Array.from({ length: below(most + 1) }, make);

/** Few names, so that rules meet. */
const names = ["a", "b", ".git", ".koda", "tmp"];
/** Refusals do not tell these apart from others, and permissions do. */
const lookalikes = ["A", "É", "E\u0301"];
const tops = ["", "", "/tmp", "/dev/shm", "/p"];
const path = (of = names) => `${oneOf(tops)}${some(4, () => `/${oneOf(of)}`).join("")}` || "/";

const limits = (): ResourceLimits => ({
  ...(random() < 0.5 && { processes: 1 + below(9) }),
  ...(random() < 0.5 && { memoryBytes: 1 + below(9) }),
});

function anyPolicy(of = names): Policy {
  const paths = (most: number) => some(most, () => path(of));
  return {
    root: path(of),
    home: "/home",
    tmp: "/t",
    privateTmp: random() < 0.5,
    write: paths(4),
    readonly: paths(2),
    hide: paths(4),
    show: paths(3),
    copies: [],
    repositories: { paths: [] },
    allowGit: random() < 0.5,
    allowConfig: random() < 0.5,
    network: oneOf(["none", "allowlist", "open"] as const),
    limits: limits(),
  };
}

const reads = (probe: string, policy: Policy) => whyHidden(probe, policy) === undefined;
const writes = (probe: string, policy: Policy) => reads(probe, policy) && whyUnwritable(probe, policy) === undefined;

type Round = { parent: Policy; child: Policy; probes: readonly string[] };

/** Every place that a rule names is asked about, as is something in it, beside any others. */
function rounds(count: number, of = names): Round[] {
  return Array.from({ length: count }, () => {
    const [parent, child] = [anyPolicy(of), anyPolicy(of)];
    const named = [parent, child].flatMap(({ hide, show, write, readonly }) => [
      ...hide,
      ...show,
      ...write,
      ...readonly,
    ]);
    const inside = named.map((rule) => `${rule === "/" ? "" : rule}/${oneOf(of)}`);
    return { parent, child, probes: [...named, ...inside, ...Array.from({ length: 10 }, () => path(of))] };
  });
}

const many = rounds(2_500);

/** How a composition judges each place, beside what it should say. */
function judged({ parent, child, probes }: Round) {
  const both = compose(parent, child);
  const isIn = (allows: typeof reads, probe: string) => allows(probe, parent) && allows(probe, child);
  return probes.flatMap((probe) => [
    { probe, allowed: reads(probe, both), expected: isIn(reads, probe) },
    { probe, allowed: writes(probe, both), expected: isIn(writes, probe) },
  ]);
}

test("a composition allows what both allow, and nothing that one of them denies", () => {
  for (const { parent, child, probes } of many) {
    const wrong = judged({ parent, child, probes }).filter(({ allowed, expected }) => allowed !== expected);
    if (wrong.length > 0) expect({ parent, child, wrong }).toEqual({ parent, child, wrong: [] });
  }
});

test("where names look alike it may allow less, and never more", () => {
  for (const { parent, child, probes } of rounds(5_000, [...names, ...lookalikes])) {
    const wrong = judged({ parent, child, probes }).filter(({ allowed, expected }) => allowed && !expected);
    if (wrong.length > 0) expect({ parent, child, wrong }).toEqual({ parent, child, wrong: [] });
  }
});

test("what commands find as /tmp is the parent's, or a directory in that which both may write", () => {
  const plain = { ...anyPolicy(), tmp: "/t", write: ["/p", "/t"], readonly: [], hide: ["/t/hidden"], show: [] };
  const found = (tmp: string, write: readonly string[] = plain.write) => compose(plain, { ...plain, tmp, write }).tmp;
  expect(found("/t/agent", ["/t/agent"])).toBe("/t/agent");
  expect([found("/p/src"), found("/home"), found("/t/.git"), found("/t/hidden"), found("/t/agent", ["/p"])]).toEqual(
    Array.from({ length: 5 }, () => "/t"),
  );
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
  // Commits go to the root's own repository, and another root has another one.
  expect(both({ allowGit: true }, { allowGit: true, root: `${plain.root}/other` }).allowGit).toBe(false);
  expect(both({ limits: { processes: 9, openFiles: 5 } }, { limits: { processes: 7, cpuSeconds: 1 } }).limits).toEqual({
    processes: 7,
    openFiles: 5,
    cpuSeconds: 1,
  });
});
