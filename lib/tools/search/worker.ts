import type { BadPattern } from "./dialect.ts";
import type { GrepResult, GrepQuery } from "./found.ts";
import { type Files, findFiles, listTree, type Tree } from "./listing.ts";
import { scan } from "./scan.ts";
import type { SearchScope } from "./scope.ts";

/** A question to the worker: it answers one in its life. */
export type Question =
  | { kind: "grep"; query: GrepQuery }
  | { kind: "glob"; scope: SearchScope; pattern: string; wanted: number }
  | { kind: "list"; scope: SearchScope; depth: number; wanted: number };
export type Answers = { grep: GrepResult | BadPattern; glob: Files; list: Tree };

declare const self: Worker;

self.addEventListener("message", ({ data }: MessageEvent<Question>) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  self.postMessage(answer(data));
});

function answer(question: Question): Answers[keyof Answers] {
  switch (question.kind) {
    case "grep":
      return scan(question.query);
    case "glob":
      return findFiles(question.scope, question);
    case "list":
      return listTree(question.scope, question);
    default:
      return question satisfies never;
  }
}
