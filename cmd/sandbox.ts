import { SerialQueue } from "../lib/async/serialqueue.ts";
import { describeSkipped } from "../lib/config/describe.ts";
import { wantedOf } from "../lib/conversation/allowance.ts";
import { type Confinement, isMissing, sandboxMissing } from "../lib/conversation/workspace/confinement.ts";
import { openWorkspace, type Workspace } from "../lib/conversation/workspace.ts";
import { inMemory } from "../lib/session/database.ts";
import { CannotStart } from "../lib/shell/program.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import { baseSettings } from "./basesettings.ts";
import { printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import { report } from "./print.ts";
import { keyVariables, linesOf } from "./sandboxed.ts";
import type { Stopper } from "./signals.ts";
import { isTerminal } from "./terminal.ts";

type SandboxOptions = CommandOptions<"sandbox">;

/** `koda sandbox`: runs a command as an agent's commands run, but with koda's own streams and exit code. */
export async function sandbox(options: SandboxOptions, stopper: Stopper): Promise<number> {
  const reaper = new Reaper();
  const settings = { ...(await baseSettings(options)), database: inMemory };
  const { config, project } = settings.loaded;
  const lines = new SerialQueue();
  try {
    await using workspace = await openWorkspace({
      settings,
      allowance: wantedOf(config),
      accept: async (confinement) => {
        if (isMissing(confinement)) throw sandboxMissing(confinement, { what: "Cannot run the command" });
        await printNote(...(await introduction(confinement, options)));
        await printNote(...project.skipped.map((setting) => `koda: warning: ${describeSkipped(setting)}`));
      },
      keyVariables: keyVariables(config),
      post: (event) => void lines.run(() => printNote(...linesOf(event))),
      reaper,
      stop: stopper.controller.signal,
    });
    return await attend(options.command, workspace, stopper);
  } finally {
    // Closing the workspace posts the last notices.
    await lines.run(async () => {});
  }
}

/** A signal before the command starts ends koda; later ones are passed on to the command. */
async function attend(command: SandboxOptions["command"], workspace: Workspace, stopper: Stopper): Promise<number> {
  const { signal } = stopper.controller;
  const { repositories } = workspace;
  const { shell } = workspace.open();
  await repositories.before(signal);
  try {
    const env = await terminalName();
    signal.throwIfAborted();
    // No await between this check and the relay, so that no signal is handled between them.
    process.on("SIGQUIT", () => stopper.relay?.("SIGQUIT"));
    const attached = shell.attach(command, { env });
    stopper.relay = (name) => attached.forward(name);
    return (await attached.ended).exitCode;
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error;
    await report(error);
    return error.shellExit;
  } finally {
    await printNote(...(await repositories.after()).flatMap(linesOf));
  }
}

/** An agent's commands have no terminal; a command that has one needs its name. */
async function terminalName(): Promise<Record<string, string>> {
  const { TERM } = process.env;
  return TERM !== undefined && ((await isTerminal(0)) || (await isTerminal(1))) ? { TERM } : {};
}

/** The policy in effect: in full with --json, one line on a terminal, and always a warning when there is none. */
async function introduction(confinement: Confinement, { json }: SandboxOptions): Promise<string[]> {
  const { name, filesystem, network } = confinement.backend;
  const warnings = name === "none" ? confinement.gaps.map((gap) => `koda: warning: ${gap}`) : [];
  if (json) return [JSON.stringify(enforced(confinement)), ...warnings];
  if (name === "none" || !(await isTerminal(2))) return warnings;
  return [`koda: in the sandbox "${name}": files ${filesystem}, network ${network}`];
}

function enforced({ backend, policy, missed, gaps }: Confinement): unknown {
  const { name, filesystem, network } = backend;
  const { root, tmp, write, readonly, hide, show, allowGit, allowConfig } = policy;
  const places = { root, tmp, write, readonly, hide, show, allow_git: allowGit, allow_config: allowConfig };
  return { backend: name, filesystem, network, ...places, missed, notes: gaps };
}
