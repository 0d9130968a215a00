import { expect, test } from "bun:test";
import { closest } from "../../lib/tools/closest.ts";

const source = `import { a } from "a";

export function first(value: number): number {
  return value + 1;
}

export function second(value: number): number {
  return value + 2;
}
`;

const rows: [what: string, wanted: string, start: number, lines: string[]][] = [
  [
    "a misspelt word",
    "export function frist(value: number): number {",
    3,
    ["export function first(value: number): number {"],
  ],
  ["another indentation", "    return value + 2;", 8, ["  return value + 2;"]],
  [
    "the surroundings deciding between equals",
    "export function second(value: number): number {\n  return value + 3;\n}",
    7,
    ["export function second(value: number): number {", "  return value + 2;", "}"],
  ],
  [
    "foreign text among the lines",
    "  return value + 2;\n}\n\nNow I see that the second function has to be changed as well.",
    8,
    ["  return value + 2;", "}", ""],
  ],
  ["blank lines around it", "\n\n  return value + 1\n\n", 4, ["  return value + 1;"]],
];

test.each(rows)("finds %s", (_, wanted, start, lines) => {
  expect(closest(source, wanted)).toMatchObject({ start, lines });
});

test("says when only blanks differ", () => {
  expect(closest(source, "\treturn value  + 2;")?.differsInBlanksOnly).toBe(true);
  expect(closest(source, "  return value + 3;")?.differsInBlanksOnly).toBe(false);
});

test.each(["zzzzzzzzzzzzz", "", "\n \n", "q"])("finds nothing like %j", (wanted) => {
  expect(closest(source, wanted)).toBeUndefined();
});

test("a piece that would begin before the file is shown from its start", () => {
  expect(closest("const answer = 42;\nend", "missing\nmissing too\nconst answer = 43;")).toMatchObject({
    start: 1,
    lines: ["const answer = 42;"],
  });
});

test("a long piece is shown in part", () => {
  const text = Array.from({ length: 50 }, (_, i) => `the line of number ${i}`).join("\n");
  expect(closest(text, text.replace("number 30", "nubmer 30"))?.lines).toHaveLength(12);
});

test("no more is looked at than so many characters, however long that takes", () => {
  const end = source.indexOf("  return value + 2;") + "  return value + 2;\n".length;
  expect(closest(source, "  return value + 2", end)).toMatchObject({ lines: ["  return value + 2;"] });
  expect(closest(source, "  return value + 2", end - 1)).toMatchObject({ lines: ["  return value + 1;"] });
  expect(closest(source, "  return value + 2", 0)).toBeUndefined();
});
