import type { Assembly } from "../../assembly/assembly.ts";

const longestPath = 4096;

/** The directory of the start. `goBack` adds the steps that enter it by its name, once other things are mounted. */
export function rememberDirectory(program: Assembly): { goBack(): void } {
  const path = program.bytes(new Uint8Array(longestPath));
  program.step("getcwd", [path, longestPath], { must: "getcwd" });
  return { goBack: () => program.step("chdir", [path], { must: "chdir to the command's directory" }) };
}
