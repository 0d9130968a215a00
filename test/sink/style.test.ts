import { describe, expect, test } from "bun:test";
import { dollars, oneLine, wantsColor } from "../../lib/sink/style.ts";

const colors: readonly [
  choice: "auto" | "always" | "never",
  terminal: boolean,
  env: Record<string, string>,
  wants: boolean,
][] = [
  ["auto", true, {}, true],
  ["auto", false, {}, false],
  ["auto", true, { NO_COLOR: "1" }, false],
  ["auto", true, { NO_COLOR: "" }, true],
  ["auto", true, { TERM: "dumb" }, false],
  ["auto", false, { FORCE_COLOR: "1" }, true],
  ["auto", true, { FORCE_COLOR: "0" }, false],
  ["auto", false, { FORCE_COLOR: "1", NO_COLOR: "1" }, false],
  ["always", false, { NO_COLOR: "1" }, true],
  ["never", true, { FORCE_COLOR: "1" }, false],
];

describe("colours", () => {
  for (const [choice, terminal, env, wants] of colors)
    test(`${choice} on ${terminal ? "a terminal" : "a pipe"} with ${JSON.stringify(env)}: ${wants ? "yes" : "no"}`, () => {
      expect(wantsColor(choice, terminal, env)).toBe(wants);
    });
});

const amounts: readonly [usd: number, text: string][] = [
  [0, "$0.00"],
  [0.00001, "under $0.0001"],
  [0.00042, "$0.0004"],
  [0.0042, "$0.0042"],
  [0.05, "$0.05"],
  [0.4213, "$0.42"],
  [1.2345, "$1.23"],
  [1_234.5, "$1,234.50"],
];

describe("money is told as", () => {
  for (const [usd, text] of amounts) test(text, () => expect(dollars(usd)).toBe(text));
});

test("a line is no wider than it may be, also where a wide character would be cut in half", () => {
  for (let columns = 10; columns < 30; columns++) {
    const line = oneLine("complete 界世界世 and\nso on", columns);
    expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
    expect(line).toStartWith("complete ");
  }
});
