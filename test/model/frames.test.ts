import { describe, expect, test } from "bun:test";
import { FrameReader } from "../../lib/model/frames.ts";

function framesOf(text: string, size: number): string[] {
  const bytes = new TextEncoder().encode(text);
  const reader = new FrameReader();
  const frames: string[] = [];
  for (let start = 0; start < bytes.length; start += size)
    frames.push(...reader.read(bytes.subarray(start, start + size)));
  return [...frames, ...reader.end()];
}

describe("server-sent events", () => {
  test.each<[string, string, string[]]>([
    ["plain", "data: a\n\ndata: b\n\n", ["a", "b"]],
    ["without the space", "data:a\n\n", ["a"]],
    ["with carriage returns", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
    ["with carriage returns alone", "data: a\r\rdata: b\r\r", ["a", "b"]],
    ["with a name", "event: x\nid: 7\ndata: a\n\n", ["a"]],
    ["with comments between them", ": ping\n\ndata: a\n\n: ping\n\n", ["a"]],
    ["over several lines", "data: a\ndata: b\n\n", ["a\nb"]],
    ["with blank lines to spare", "\n\n\ndata: a\n\n\n\ndata: b\n\n", ["a", "b"]],
    ["with letters of several bytes", "data: ä€😀\n\n", ["ä€😀"]],
    ["without a blank line at the end", "data: a\n\ndata: b", ["a", "b"]],
    ["with nothing in them", "data:\n\ndata: \n\n", []],
    ["that are none", "upstream connect error\n\n", []],
  ])("are read when they are %s, however they are cut", (_name, text, expected) => {
    for (const size of [1, 2, 3, 5, 1000]) expect(framesOf(text, size)).toEqual(expected);
  });

  test("a frame is given out with its last byte, however it came", () => {
    const reader = new FrameReader();
    const given = [..."data: a\n\n"].map((byte) => reader.read(new TextEncoder().encode(byte)).length);
    expect(given).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1]);
  });

  test("a frame without an end is given up before it fills the memory", () => {
    const reader = new FrameReader();
    const megabyte = new Uint8Array(1024 * 1024).fill(120);
    const flood = () => {
      for (let count = 0; count < 64; count++) reader.read(megabyte);
    };
    expect(flood).toThrow("32 MB");
  });

  test("a stream without an end is given up too, although all of its frames are complete", () => {
    const reader = new FrameReader();
    const frames = new TextEncoder().encode(`data: ${"x".repeat(1024 * 1024)}\n\n`);
    const flood = () => {
      for (let count = 0; count < 300; count++) expect(reader.read(frames)).toHaveLength(1);
    };
    expect(flood).toThrow("256 MB");
  });
});
