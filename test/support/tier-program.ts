/**
 * Holds one tier of the sandbox open and runs commands in it, in a process of its own: as koda does, and as whichever
 * user. It is told what to do and tells what happens line by line in JSON; `tiers.ts` is the other side.
 */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../lib/errors.ts";
import { guardRepositories, type Repositories } from "../../lib/conversation/workspace/repositories.ts";
import { realPaths } from "../../lib/files/real.ts";
import { landlockAbi } from "../../lib/sandbox/abi.ts";
import { type Backend, unconfined } from "../../lib/sandbox/backend.ts";
import { canReplaceTmp } from "../../lib/sandbox/layout/layout.ts";
import { type Policy, policyOf } from "../../lib/sandbox/policy/policy.ts";
import { look } from "../../lib/sandbox/layout/host.ts";
import { openBwrapTier } from "../../lib/sandbox/tiers/bwrap/tier.ts";
import { openLandlockTier } from "../../lib/sandbox/tiers/landlock/tier.ts";
import { openNamespacesTier } from "../../lib/sandbox/tiers/namespaces/tier.ts";
import type { TierOptions } from "../../lib/sandbox/tiers/tier.ts";
import { Unavailable } from "../../lib/sandbox/tiers/unavailable.ts";
import { childEnv } from "../../lib/shell/env.ts";
import { Shell } from "../../lib/shell/shell.ts";
import type { Job } from "../../lib/shell/job.ts";
import { Reaper } from "../../lib/shell/reaper.ts";
import { hereArch } from "./assembled.ts";
import type { Order, Report, TierName, Wanted } from "./tiers.ts";

const policies = new Map<string, Policy>();
const wanted: Wanted = JSON.parse(process.argv[2] ?? "");
const reaper = new Reaper();
await using held = new AsyncDisposableStack();
const tmp = realpathSync(mkdtempSync(join(tmpdir(), "koda-")));
held.defer(() => rmSync(tmp, { recursive: true, force: true }));

try {
  const { backend, policy } = await openTier(wanted);
  held.use(backend);
  const rules = { pass: Object.keys(wanted.env), tmp: policy.privateTmp ? "/tmp" : tmp, keys: [] };
  const { env } = childEnv({ ...process.env, ...wanted.env }, rules);
  const shell = new Shell({ backend, policy, env, reaper });
  held.defer(async () => shell.stopAll());
  const { name, filesystem, network, notes, placesCopies, ownProcesses, guards, mayShareGroup } = backend;
  tell({
    kind: "open",
    policy,
    backend: { name, filesystem, network, notes, placesCopies, ownProcesses, guards, mayShareGroup },
  });
  // Where a tier cannot hold repositories as they are, whoever runs commands puts them back.
  const care = () =>
    guardRepositories({
      policy,
      backend,
      dataDirectory: wanted.grants.dataDirectory,
      env: wanted.env,
      stop: new AbortController().signal,
      isBusy: () => false,
    });
  await obey(shell, backend, backend.guards || wanted.guarded ? care() : undefined);
} catch (error) {
  if (!(error instanceof Unavailable)) throw error;
  tell({ kind: "unavailable", reason: error.message });
}

async function openTier({ tier, grants, circumstances }: Wanted): Promise<{ backend: Backend; policy: Policy }> {
  const policyFor = (privateTmp: boolean) => policyOf({ ...grants, tmp, privateTmp, resolve: realPaths });
  const draft = policyFor(false);
  if (tier === "none") return { backend: unconfined, policy: draft };
  const options: TierOptions = {
    arch: hereArch,
    abi: landlockAbi(),
    ports: [],
    searchPath: process.env.PATH,
    onRefusal: ({ what }) => tell({ kind: "refusal", what }),
    ...circumstances,
  };
  const backend = await open(
    tier,
    tier !== "landlock" && canReplaceTmp(draft, look) ? policyFor(true) : draft,
    options,
  );
  return { backend, policy: backend.policy ?? draft };
}

async function open(tier: Exclude<TierName, "none">, policy: Policy, options: TierOptions): Promise<Backend> {
  switch (tier) {
    case "namespaces":
      return await openNamespacesTier(policy, options, { processes: true });
    case "landlock":
      return await openLandlockTier(policy, options);
    case "bwrap":
      return await openBwrapTier(policy, options);
    default:
      return tier satisfies never;
  }
}

/** Until nobody gives orders any more. */
async function obey(shell: Shell, backend: Backend, care: Repositories | undefined): Promise<void> {
  const running = new Map<number, Job>();
  for await (const line of console) {
    // After the last line there is an empty one.
    if (line === "") continue;
    const order: Order = JSON.parse(line);
    switch (order.do) {
      case "start":
        await care?.before(AbortSignal.timeout(10_000));
        begin(order);
        break;
      case "stop":
        void running.get(order.id)?.stop();
        break;
      case "protect":
        if (backend.policy !== undefined) backend.policy.repositories.paths = order.paths;
        break;
      default:
        order satisfies never;
    }
  }

  function begin(order: Extract<Order, { do: "start" }>): void {
    try {
      running.set(order.id, start(shell, order, care));
    } catch (error) {
      tell({ kind: "failed", id: order.id, message: messageOf(error) });
    }
  }
}

type Start = Extract<Order, { do: "start" }>;

function start(shell: Shell, { id, command, options }: Start, care: Repositories | undefined): Job {
  const listen = (stream: "stdout" | "stderr") => (bytes: Uint8Array) =>
    tell({ kind: "output", id, stream, text: Buffer.from(bytes).toString("latin1") });
  const streams = { stdout: listen("stdout"), stderr: listen("stderr") };
  const running = shell.start(command, {
    ...streams,
    ...options,
    ...(options.policy && { policy: same(options.policy) }),
  });
  tell({ kind: "started", id, pid: running.pid });
  void finish();
  return running;

  async function finish(): Promise<void> {
    const ended = await running.ended;
    await care?.after();
    tell({ kind: "ended", id, ended });
  }
}

/** The record that was given first: those who have a policy pass the same one for each command. */
function same(policy: Policy): Policy {
  const key = JSON.stringify(policy);
  const known = policies.get(key) ?? policy;
  policies.set(key, known);
  return known;
}

function tell(report: Report): void {
  console.log(JSON.stringify(report));
}
