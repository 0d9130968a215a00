import { readFileSync } from "node:fs";

/** The shell lines of a page: blocks of sh, and what is typed in those of a console. */
export function shellBlocks(page: string): string[] {
  const blocks = [...readFileSync(page, "utf8").matchAll(/^```(sh|console)\n([\s\S]*?)^```$/gm)];
  return blocks.map(([, language, code = ""]) => (language === "sh" ? code : typedIn(code)));
}

function typedIn(session: string): string {
  return session
    .split("\n")
    .flatMap((line) => (line.startsWith("$ ") ? [line.slice(2)] : []))
    .join("\n");
}
