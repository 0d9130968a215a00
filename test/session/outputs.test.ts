import { expect, test } from "bun:test";
import { linesOfOutput } from "../../lib/session/lines.ts";
import { makeShelf, output, start, user } from "../support/sessions.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("an output is loaded as it was saved, byte for byte, also by the next process", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.append(user("go"));
  const id = session.outputs.reserve();
  const everyByte = Uint8Array.from({ length: 256 }, (_, n) => n);
  const stored = {
    id,
    call: "c1",
    stdout: { head: everyByte, tail: bytes("tail"), totalBytes: 10_000_000_000, totalLines: 3 },
    stderr: { head: new Uint8Array(), tail: new Uint8Array(), totalBytes: 0, totalLines: 0 },
  };
  session.outputs.save(stored);
  expect(session.outputs.load(id)).toEqual(stored);
  session.close();
  await using resumed = await shelf.store.open(session.id);
  expect(resumed.outputs.load(id)).toEqual(stored);
  expect(resumed.outputs.load("o99")).toBeUndefined();
});

test("ids are short, never given twice, and go on after a resume", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.append(user("go"));
  expect([session.outputs.reserve(), session.outputs.reserve()]).toEqual(["o1", "o2"]);
  for (const id of ["o2", "o10", "o9"]) session.outputs.save(output(id, "x"));
  session.close();
  await using resumed = await shelf.store.open(session.id);
  expect(resumed.outputs.reserve()).toBe("o11");
});

const nothing = { head: new Uint8Array(), tail: new Uint8Array(), totalBytes: 0, totalLines: 0 };

test.each([
  ["both streams count on", output("o1", "a\nb\n", "e\nf"), ["1 a", "2 b", "3 e", "4 f"]],
  ["an unfinished last line is a line", output("o1", "a\nb", "e"), ["1 a", "2 b", "3 e"]],
  ["blank lines are lines", output("o1", "\n\na\n"), ["1 ", "2 ", "3 a"]],
  ["nothing has no lines", output("o1", ""), []],
  [
    "head and tail without a gap are one text, even when the cut fell into a character",
    {
      stdout: { head: bytes("a\nü").subarray(0, 3), tail: bytes("ü\nb").subarray(1), totalBytes: 6, totalLines: 3 },
      stderr: nothing,
    },
    ["1 a", "2 ü", "3 b"],
  ],
  [
    "what comes after a gap has its true numbers",
    {
      stdout: { head: bytes("a\nb\nhalf"), tail: bytes("other half\ny\nz\n"), totalBytes: 1000, totalLines: 100 },
      stderr: output("o", "e\n").stdout,
    },
    ["1 a", "2 b", "3 half", "3 [977 bytes were not kept]", "98 other half", "99 y", "100 z", "101 e"],
  ],
  [
    "a gap within one single line",
    { stdout: { head: bytes("aaaa"), tail: bytes("zzzz"), totalBytes: 10_000, totalLines: 1 }, stderr: nothing },
    ["1 aaaa", "1 [9992 bytes were not kept]", "1 zzzz"],
  ],
])("lines of an output: %s", (_, stored, expected) => {
  expect(linesOfOutput(stored).map(({ number, text }) => `${number} ${text}`)).toEqual(expected);
});
