import type { Assembly } from "../../assembly/assembly.ts";

const longestPath = 4096;

/** Where the program was started. The steps it returns go there again: by its name, once other things are mounted. */
export function rememberDirectory(program: Assembly): { goBack(): void } {
  const path = program.bytes(new Uint8Array(longestPath));
  program.step("getcwd", [path, longestPath], { must: "getcwd" });
  return { goBack: () => program.step("chdir", [path], { must: "chdir to the command's directory" }) };
}
