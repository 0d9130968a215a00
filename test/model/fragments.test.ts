import { describe, expect, test } from "bun:test";
import { FragmentedCalls } from "../../lib/model/fragments.ts";

const info = { provider: "test", name: "scripted", wire: "chat", contextWindow: 1 } as const;

type Fragment = { index?: unknown; id?: unknown; function?: { name?: unknown; arguments?: unknown } };
type Made = [id: string, tool: string, text: string];

/** A fragment: index, id, name, arguments; what is undefined is not in it. */
const part = (index?: number, id?: string, name?: string, text?: unknown): Fragment => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), ...(text !== undefined && { arguments: text }) },
});

/** One that only goes on with the arguments, and one without an index. */
const more = (index: number, text: string) => part(index, undefined, undefined, text);
const loose = (id?: string, name?: string, text?: string) => part(undefined, id, name, text);

function assembled(fragments: readonly Fragment[]): Made[] {
  const calls = new FragmentedCalls();
  for (const fragment of fragments) calls.add(fragment);
  return calls.all(info).map(({ id, tool, arguments: text }) => [id, tool, text]);
}

const one: Made[] = [["a", "Read", '{"p":1}']];
const two: Made[] = [
  ["a", "Read", '{"p":1}'],
  ["b", "Bash", '{"c":2}'],
];

describe("the fragments of a reply's calls", () => {
  test.each<[string, Fragment[], Made[]]>([
    ["in order", [part(0, "a", "Read", ""), more(0, '{"p"'), more(0, ":1}")], one],
    ["in one piece", [part(0, "a", "Read", '{"p":1}'), part(1, "b", "Bash", '{"c":2}')], two],
    [
      "interleaved",
      [part(0, "a", "Read"), part(1, "b", "Bash"), more(1, '{"c"'), more(0, '{"p":1}'), more(1, ":2}")],
      two,
    ],
    ["with the id and name in each", [part(0, "a", "Read", '{"p"'), part(0, "a", "Read", ":1}")], one],
    ["with empty ids after the first", [part(0, "a", "Read", '{"p"'), part(0, "", "", ":1}")], one],
    ["with the id and name late", [more(0, '{"p"'), part(0, "a", "Read", ":1}")], one],
    [
      "without an index",
      [loose("a", "Read", '{"p":1}'), loose("b", "Bash", '{"c"'), loose(undefined, undefined, ":2}")],
      two,
    ],
    [
      "without an index, interleaved by id",
      [loose("a", "Read"), loose("b", "Bash"), loose("a", undefined, '{"p":1}'), loose("b", undefined, '{"c":2}')],
      two,
    ],
    ["all under one index", [part(0, "a", "Read", '{"p":1}'), part(0, "b", "Bash", '{"c"'), more(0, ":2}")], two],
    ["with arguments that are an object", [part(0, "a", "Read", { p: 1 })], one],
    [
      "with the whole repeated at the end",
      [part(0, "a", "Read", '{"p"'), more(0, ":1}"), part(0, "a", "Read", '{"p":1}')],
      one,
    ],
    [
      "twice with one id",
      [part(0, "a", "Read", '{"p":1}'), part(1, "a", "Bash", '{"c":2}')],
      [one[0] as Made, ["a", "Bash", '{"c":2}']],
    ],
    [
      "without ids and index",
      [loose(undefined, "Read", '{"p":1}'), loose(undefined, "Bash", '{"c":2}')],
      [
        ["", "Read", '{"p":1}'],
        ["", "Bash", '{"c":2}'],
      ],
    ],
    [
      "with a brace as a piece",
      [part(0, "a", "Read", "{"), more(0, '"p":{'), more(0, "}}")],
      [["a", "Read", '{"p":{}}']],
    ],
    ["without arguments", [part(0, "a", "Read")], [["a", "Read", "{}"]]],
    [
      "with null everywhere",
      [part(0, "a", "Read", '{"p"'), { index: 0, id: null, function: { name: null, arguments: null } }, more(0, ":1}")],
      one,
    ],
    ["broken off", [part(0, "a", "Read", '{"p":')], [["a", "Read", '{"p":']]],
    ["without a function", [{ index: 0, id: "a" }], [["a", "", "{}"]]],
  ])("are put together when they come %s", (_name, fragments, expected) => {
    expect(assembled(fragments)).toEqual(expected);
  });

  test("a repetition of every fragment makes no other call", () => {
    const fragments = [
      part(0, "a", "Read", ""),
      part(0, "a", undefined, '{"p":1}'),
      part(0, "a", undefined, '{"p":1}'),
    ];
    expect(assembled(fragments)).toEqual(one);
  });
});
