import { bashScript } from "./completions/bash.ts";
import { fishScript } from "./completions/fish.ts";
import { zshScript } from "./completions/zsh.ts";
import type { CommandOptions } from "./options.ts";
import { print } from "./print.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `koda completions SHELL`: everything in the scripts comes from the tables that the parser reads. */
export async function completions({ shell }: CommandOptions<"completions">): Promise<number> {
  await print(scripts[shell]());
  return 0;
}
