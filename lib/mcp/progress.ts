import { shortened } from "../session/graphemes.ts";
import type { Progress } from "./client.ts";

/** Reports the progress of a call as lines, as far as people read them: a server may send it without a pause. */
export function progressReport(report: (line: string) => void): (progress: Progress) => void {
  let [lines, characters] = [0, 0];
  return (progress) => {
    if (lines > mostLines || characters > mostCharacters) return;
    const line = shortened(textOf(progress), longestLine);
    characters += line.length;
    report(++lines > mostLines || characters > mostCharacters ? "(more progress of this call is not shown)" : line);
  };
}

function textOf({ progress, total, message }: Progress): string {
  const share = total === undefined ? `${progress}` : `${progress}/${total}`;
  return message === undefined ? share : `${share} ${message}`;
}

const mostLines = 1_000;
const longestLine = 1_000;
const mostCharacters = 100_000;
