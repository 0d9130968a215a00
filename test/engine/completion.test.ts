import { describe, expect, test } from "bun:test";
import { type Ending, judgeCompletion } from "../../lib/engine/completion.ts";
import { finished, promises } from "./endings.ts";
import { cpuTime } from "../support/cputime.ts";

const of = (text: string, more: Partial<Ending> = {}) =>
  judgeCompletion({ text, openTodos: [], unchangedTask: undefined, ...more });

describe("the text of a reply", () => {
  for (const [language, texts] of Object.entries(finished))
    test(`that ends a task in ${language} is never doubted`, () => {
      for (const text of texts) expect(of(text), text).toEqual({ reasons: [], reminder: undefined });
    });

  for (const [language, texts] of Object.entries(promises))
    test(`that only promises to go on in ${language} is noticed, nine times in ten`, () => {
      const missed = texts.filter((text) => of(text).reminder?.isPromise !== true);
      expect(missed.length / texts.length, missed.join("\n")).toBeLessThanOrEqual(0.1);
    });

  test("is judged in a moment, however long its last line is", () => {
    const startedAt = cpuTime();
    for (const piece of ["* ", "let me ", "``` ", "a.b-", "not? "])
      of(piece.repeat(500_000), { unchangedTask: "Fix a.ts" });
    expect(cpuTime() - startedAt).toBeLessThan(2_000);
  });

  test("is quoted in the reason, however it is written", () => {
    const rows = [
      ["I see.\n\n**Now the tests:**", 'the answer ends in a colon: "**Now the tests:"'],
      ["Running the tests...", 'the answer ends in an ellipsis: "Running the tests..."'],
      ["Good. I’ll fix it now! 🚀", 'the answer ends by announcing an action: "I’ll fix it now!"'],
    ] as const;
    for (const [text, reason] of rows) expect(of(text).reasons).toEqual([reason]);
  });
});

describe("open to-do items", () => {
  const openTodos = ["write the test"];

  test("are named in the reminder", () => {
    const { reasons, reminder } = of("The parser is fixed.", { openTodos });
    expect(reasons).toEqual(['to-do items are open: "write the test"']);
    expect(reminder?.text).toEndWith('say so. Your to-do list has open items: "write the test".');
  });

  test("are counted when they are many", () => {
    const { reasons } = of("Fixed.", { openTodos: ["a", "b", "c", "d", "e", "f", "g"] });
    expect(reasons).toEqual(['to-do items are open: "a", "b", "c", "d", "e", 2 more']);
  });

  for (const text of ["Which of the two should I test?", "I could not write the test: there is no runner."])
    test(`are no reason to ask again after "${text}"`, () => {
      const { reasons, reminder } = of(text, { openTodos });
      expect([reasons.length, reminder]).toEqual([1, undefined]);
    });
});

describe("a task that asks for a change,", () => {
  const unchanged: [task: string, answer: string][] = [
    ["Fix the bug in src/add.js", "I've fixed the bug: `add` returns the sum."],
    ["Fix the bug in src/add.js", "Fixed the bug in `src/add.js`."],
    ["Please rename run() in lib/a.ts to start()", "Here is the new code:\n```ts\nfunction start() {}\n```\n"],
    ["Behebe den Fehler in src/add.js", "Ich habe den Fehler in der ersten Zeile behoben."],
    ["请修复 src/add.js 里的错误", "已修复 src/add.js 里的错误。"],
    ["src/add.js のバグを修正してください。", "バグを修正しました。"],
  ];
  for (const [task, answer] of unchanged)
    test(`is not finished by words: "${task}"`, () => {
      expect(of(answer, { unchangedTask: task }).reasons).toEqual(["the task asks for a change, and no call made one"]);
    });

  const answered: [task: string, answer: string][] = [
    ["How would I fix the bug in src/add.js?", "Replace the minus:\n```js\na + b\n```\n"],
    ["fix src/add.js, but only print the diff", "```diff\n-a\n+b\n```"],
    ["Fix the sentence: he go home", "He goes home."],
    ["Write tests for src/add.js", "```js\ntest();\n```\n"],
    ["Convert data.yaml to JSON", "```json\n{}\n```\n"],
    ["Fix the bug in src/add.js\n\n<stdin>\na - b\n</stdin>", "```js\na + b\n```\n"],
    ["Fix the typo in README.md", "There is no typo in `README.md`, so I changed nothing."],
    ["Fix the typo in README.md", "The typo in `README.md` was already fixed in the last commit."],
    ["Fix the typo in README.md", "I could not open the file: it does not exist."],
    ["Fix the typo in README.md", "`README.md` is spelled the way that the style guide wants it."],
    ["Update config.yml to the new schema", "Which version of the schema do you mean?"],
    ["Explain src/add.js", "I changed my mind about it: it adds."],
  ];
  for (const [task, answer] of answered)
    test(`or for none is answered: ${JSON.stringify(task)}, ${JSON.stringify(answer)}`, () => {
      expect(of(answer, { unchangedTask: task }).reasons).toEqual([]);
    });
});
