import { commands } from "./commands.ts";
import { isFamily, wordsBelow } from "./commandtree.ts";
import { foreignWords } from "./foreignwords.ts";

/** The answer for a flag or command of another agent; it completes `Unknown flag "-p": …`. */
export function answerForWord(word: string, value?: string): string | undefined {
  const family = word.replace(/^(--(?:allow-)?dangerously-).*/, "$1*");
  return foreignWords.get(`${word} ${value}`) ?? foreignWords.get(family);
}

/** The same for a value that a flag of koda's does not take. */
export function answerForValue(flag: string, value: string): string | undefined {
  return foreignWords.get(`${flag} ${value}`);
}

/** The answer for a word that is a command of koda or of another agent. */
export function commandForWord(word: string): string | undefined {
  const answer = answerForWord(word);
  if (answer !== undefined || word === "") return answer;
  if (isFamily(word)) return `write koda ${word} ${wordsBelow(word).join("|")}`;
  const path = Object.keys(commands).find((name) => name === word || name.endsWith(` ${word}`));
  return path === undefined ? undefined : `write koda ${path}`;
}
