import { exitByCode } from "../../errors.ts";
import { isDiskFull } from "../../files/space.ts";
import { isForLock } from "../../session/database.ts";
import { failures, kindOfExit } from "./failure.ts";
import type { AttemptEnd } from "../store.ts";
import { sandboxOn } from "./machinesandbox.ts";

type RunOnMachine = {
  /** The words that start `koda`. */
  program: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Of the attempt. */
  state: string;
  /** The flags of the task. */
  flags: readonly string[];
};

type RunEnd = { exit: number; error?: { code: string; message: string } | undefined };

/**
 * How an end counts. Some exit codes are those of a machine at fault also where the reason is what a repository brings,
 * or what a task has left: such a task would stop one worker after the other.
 */
export async function judgeEnd(
  { exit, error }: RunEnd,
  machine: RunOnMachine,
): Promise<{ exit: number; kind: AttemptEnd["kind"]; code: string | undefined }> {
  const code = error?.code;
  // Another run has the same directory, or koda's database, and will end.
  if (code === "busy" || (error !== undefined && isForLock(error))) return { ...failures.unreachable, code };
  if (error?.message.startsWith(temporaryProblem) === true) return { ...failures.disk, code: "disk" };
  if (error !== undefined && modelProblem.test(error.message) && isModelOfMachine(machine))
    return { exit, kind: "fault", code };
  // A project may hide what every program needs, and so may the options of a task. Elsewhere nothing does.
  if (exit === exitByCode.sandbox && (await sandboxOn(machine)) !== undefined) return { exit, kind: "exit", code };
  const isUnreadable = exit === exitByCode.output && error?.message.startsWith(patchProblem) === true;
  if (isUnreadable && !isDiskFull(machine.state)) return { ...failures.patch, code: "patch" };
  return { exit, kind: kindOfExit(exit), code };
}

/** How `koda exec` says that it could not read the changes. */
const patchProblem = "Cannot make the patch (--patch): ";

/** How it says that it has no directory for temporary files, which is a setting of the machine or a full disk. */
const temporaryProblem = "Cannot make a directory for temporary files in ";

/** How it says that there is no such model. */
const modelProblem = /^(?:Unknown provider|Cannot tell which provider|The provider ".*" has no default model)/;
const choosesModel = /^--(?:model|base-url|agent)=/;

/** Neither the task chose it, nor a project that is trusted, whose configuration comes before the user's own. */
function isModelOfMachine({ flags, env }: RunOnMachine): boolean {
  const mayBeProjects = flags.includes("--trust-project") && !env["KODA_MODEL"];
  return !mayBeProjects && !flags.some((flag) => choosesModel.test(flag));
}
