import { Assembly } from "../../assembly/assembly.ts";
import { type Arch, processors } from "../../assembly/processors.ts";
import { holdSignals } from "../../program/steps/process.ts";

/** Bubblewrap would end at a signal to the group, and everything in it at once; like this it waits for its command. */
export function waitingProgram(arch: Arch): Uint8Array {
  const assembly = new Assembly(processors[arch]);
  holdSignals(assembly);
  assembly.step("execve", [assembly.program, assembly.argv, assembly.environment], { must: "execve bwrap" });
  return assembly.finish();
}
