import type { BadPattern } from "./dialect.ts";
import type { Found, Query } from "./found.ts";
import { type Files, findFiles, listTree, type Tree } from "./listing.ts";
import { scan } from "./scan.ts";
import type { Scope } from "./scope.ts";

/** What is asked of the worker, and what it answers: one question in its life. */
export type Questions = {
  grep: { asks: Query; answers: Found | BadPattern };
  glob: { asks: { scope: Scope; pattern: string; wanted: number }; answers: Files };
  list: { asks: { scope: Scope; depth: number; wanted: number }; answers: Tree };
};
export type Question = { [Kind in keyof Questions]: { kind: Kind } & Questions[Kind]["asks"] }[keyof Questions];

declare const self: Worker;

self.addEventListener("message", ({ data }: MessageEvent<Question>) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  self.postMessage(answer(data));
});

function answer(question: Question): Questions[keyof Questions]["answers"] {
  switch (question.kind) {
    case "grep":
      return scan(question);
    case "glob":
      return findFiles(question.scope, question);
    case "list":
      return listTree(question.scope, question);
    default:
      return question satisfies never;
  }
}
