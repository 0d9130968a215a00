import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { realPaths } from "../lib/files/real.ts";
import { landlockAbi } from "../lib/sandbox/abi.ts";
import { type Backend, unconfined } from "../lib/sandbox/backend.ts";
import { canReplaceTmp } from "../lib/sandbox/layout/layout.ts";
import { look } from "../lib/sandbox/layout/host.ts";
import { type Policy, policyOf, readOnly } from "../lib/sandbox/policy/policy.ts";
import { openBwrapTier } from "../lib/sandbox/tiers/bwrap/tier.ts";
import { openLandlockTier } from "../lib/sandbox/tiers/landlock/tier.ts";
import { openNamespacesTier } from "../lib/sandbox/tiers/namespaces/tier.ts";
import type { TierOptions } from "../lib/sandbox/tiers/tier.ts";
import { Unavailable } from "../lib/sandbox/tiers/unavailable.ts";
import { Shell } from "../lib/shell/shell.ts";
import { hereArch } from "../test/support/assembled.ts";
import { binary, using } from "../test/support/koda.ts";
import { call, say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace, type Place } from "../test/support/place.ts";
import { cost, type Figure, interleaved, median } from "./measure.ts";

const commands = 50;
/** A tenth of a millisecond is told from noise. */
const turns = 300;
const runs = 31;
const nothing = ["/bin/sh", "-c", "true"] as const;
const bareBwrap = "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc".split(" ");

/** Not below /tmp, where few projects are and a sandbox needs more mounts. */
const projectParent = "/var/tmp";

/** The cost of the sandbox: a command in each tier, a supervised connect, and whole runs. */
export async function measure(floors: string): Promise<Figure[]> {
  await using place = makePlace({ ".git/HEAD": "ref: refs/heads/main\n" }, projectParent);
  await using opened = await openTiers(place, floors);
  return [
    ...(await commandTimes(opened.tiers)),
    ...(await narrowTimes(opened.tiers)),
    ...(await connectTimes(opened.tiers, floors)),
    ...(await runTimes(place)),
  ];
}

type OpenTier = { name: string; shell: Shell; policy: Policy | undefined; most?: number };

/** `most` is the bar: the additional milliseconds of a command, compared with no sandbox. */
const tiers = [
  { name: "no sandbox", open: async () => unconfined },
  {
    name: "namespaces",
    open: async (policy: Policy, options: TierOptions) => openNamespacesTier(policy, options, { processes: true }),
    most: 1.5,
  },
  { name: "landlock", open: openLandlockTier, most: 1 },
  { name: "bwrap", open: openBwrapTier },
] satisfies { name: string; open(policy: Policy, options: TierOptions): Promise<Backend>; most?: number }[];

/** Opens all tiers that this machine has. */
async function openTiers(place: Place, floors: string): Promise<AsyncDisposable & { tiers: readonly OpenTier[] }> {
  await using held = new AsyncDisposableStack();
  const tmp = join(place.home, "tmp");
  mkdirSync(tmp);
  const policyFor = (privateTmp: boolean) =>
    policyOf({
      mode: "auto",
      root: place.project,
      home: place.home,
      accountHome: undefined,
      tmp,
      privateTmp,
      write: [],
      read: [floors],
      hide: [],
      dataDirectory: join(place.home, ".local/share/koda"),
      configDirectory: join(place.home, ".config/koda"),
      gitPlaces: [],
      copies: [],
      allowGit: false,
      allowConfig: false,
      network: "allowlist",
      resolve: realPaths,
    });
  const draft = policyFor(false);
  const options: TierOptions = {
    arch: hereArch,
    abi: landlockAbi(),
    ports: [],
    searchPath: process.env.PATH,
    onRefusal: () => {},
  };
  const opened: OpenTier[] = [];
  for (const { open, ...tier } of tiers) {
    try {
      const policy = canReplaceTmp(draft, look) && open !== openLandlockTier ? policyFor(true) : draft;
      const backend = held.use(await open(policy, options));
      const shell = new Shell({ backend, policy, env: place.env });
      held.defer(async () => shell.stopAll());
      opened.push({ ...tier, shell, policy: backend.policy });
    } catch (error) {
      // This machine does not have the tier.
      if (!(error instanceof Unavailable)) throw error;
    }
  }
  const all = held.move();
  return { tiers: opened, [Symbol.asyncDispose]: async () => all.disposeAsync() };
}

/** A command, and how long it took. */
function inShell(shell: Shell, options: { policy?: Policy } = {}): () => Promise<number> {
  return async () => {
    const started = performance.now();
    const { exitCode } = await shell.start(nothing, { stdout: () => {}, stderr: () => {}, ...options }).ended;
    if (exitCode !== 0) throw new Error(`\`true\` ended with exit ${exitCode}`);
    return performance.now() - started;
  };
}

/** Commands under a policy of their own take turns with those under the workspace's, which are the floor. */
async function narrowTimes(opened: readonly OpenTier[]): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { name, shell, policy } of opened) {
    if (policy === undefined) continue;
    const ways = [inShell(shell), inShell(shell, { policy: readOnly(policy) })];
    for (const run of ways) await run();
    const [floor = 0, value = 0] = (await interleaved(turns, ...ways)).map(median);
    figures.push({ what: `read-only, ${name}`, value, unit: "ms", floor, ...over(value - floor, 0.1, "ms") });
  }
  return figures;
}

async function commandTimes(opened: readonly OpenTier[]): Promise<Figure[]> {
  const bare = (argv: readonly string[]) => async () => {
    const started = performance.now();
    await Bun.spawn([...argv], { stdio: ["ignore", "ignore", "ignore"] }).exited;
    return performance.now() - started;
  };
  const variants: readonly Variant[] = [
    ...opened.map(({ shell, ...tier }) => ({ ...tier, run: inShell(shell) })),
    ...(Bun.which("bwrap") === null ? [] : [{ name: "bwrap alone", run: bare([...bareBwrap, ...nothing]) }]),
  ];
  // The kernel removes namespaces while the next command already runs, so tiers with namespaces run separately.
  const kinds = [/^namespaces/, /^bwrap/];
  const kindOf = ({ name }: Variant) => kinds.findIndex((kind) => kind.test(name));
  const figures: Figure[] = [];
  for (const kind of [-1, 0, 1])
    figures.push(
      ...(await compare(
        variants.filter((variant) => kindOf(variant) === kind),
        bare(nothing),
      )),
    );
  return figures;
}

type Variant = { name: string; run: () => Promise<number>; most?: number };

async function compare(variants: readonly Variant[], bare: () => Promise<number>): Promise<Figure[]> {
  // The first command of each builds its program and starts the supervisor's thread.
  for (const { run } of variants) await run();
  const [floors = [], ...times] = await interleaved(commands, bare, ...variants.map(({ run }) => run));
  const floor = median(floors);
  return variants.map(({ name, most }, index): Figure => {
    const value = median(times[index] ?? []);
    return { what: `\`sh -c true\`, ${name}`, value, unit: "ms", floor, ...over(value - floor, most, "ms") };
  });
}

async function connectTimes(opened: readonly OpenTier[], floors: string): Promise<Figure[]> {
  const program = join(floors, "connects");
  const { stdout } = await cost([program]);
  const floor = Number(stdout);
  const tier = opened.find(({ name }) => name === "namespaces");
  if (tier === undefined) return [];
  let printed = "";
  const decoder = new TextDecoder();
  const { ended } = tier.shell.start([program], {
    stdout: (bytes) => void (printed += decoder.decode(bytes)),
    stderr: () => {},
  });
  await ended;
  const value = Number(printed);
  return [{ what: "a supervised connect, namespaces", value, unit: "µs", floor, ...over(value - floor, 300, "µs") }];
}

/** Whole runs of the binary, with and without the sandbox: an answer, and an answer after one command. */
async function runTimes(place: Place): Promise<Figure[]> {
  await using server = await startModelServer(({ lines }) =>
    lines.some(({ text }) => text === "Answer.") || lines.at(-1)?.role === "tool"
      ? say("Done.")
      : call("Bash", { command: "true" }),
  );
  const run = (prompt: string, ...flags: string[]) => {
    const argv = [binary, "exec", ...using(server), ...flags, prompt];
    return async () => {
      const { exit, wallMs } = await cost(argv, { cwd: place.project, env: place.env });
      if (exit !== 0) throw new Error(`exit ${exit}`);
      return wallMs;
    };
  };
  const times = await interleaved(
    runs,
    run("Answer."),
    run("Answer.", "--no-sandbox"),
    run("Run it."),
    run("Run it.", "--no-sandbox"),
  );
  const [answer = 0, openAnswer = 0, command = 0, openCommand = 0] = times.map(median);
  return [
    {
      what: "one short answer, sandboxed (floor: --no-sandbox)",
      value: answer,
      unit: "ms",
      floor: openAnswer,
      ...over(answer - openAnswer, 15, "ms"),
    },
    {
      what: "the same with a first command",
      value: command,
      unit: "ms",
      floor: openCommand,
      ...over(command - openCommand, 25, "ms"),
    },
  ];
}

/** The bar of a difference; without `most` there is none. */
function over(more: number, most: number | undefined, unit: string): Pick<Figure, "bar" | "holds"> {
  const measured = `${more.toFixed(more < 10 ? 2 : 0)} ${unit} over`;
  return most === undefined ? { bar: measured, holds: true } : { bar: `${measured} (≤ ${most})`, holds: more <= most };
}
