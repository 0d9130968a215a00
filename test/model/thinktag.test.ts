import { expect, test } from "bun:test";
import { ThinkTag } from "../../lib/model/thinktag.ts";
import { seeded } from "../support/random.ts";

function read(pieces: readonly string[]) {
  const tag = new ThinkTag();
  const parts = [...pieces.map((piece) => tag.split(piece)), tag.end()];
  const joined = (key: "thinking" | "text") => parts.map((part) => part[key]).join("");
  return { thinking: joined("thinking"), text: joined("text"), blocks: parts.flatMap(({ block }) => block ?? []) };
}

function cut(content: string, random: () => number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < content.length;) {
    const length = 1 + Math.floor(random() * 5);
    pieces.push(content.slice(at, at + length));
    at += length;
  }
  return pieces;
}

test.each<[content: string, thinking: string, text: string, blocks: 0 | 1]>([
  ["<think>look first</think>\n\nDone.", "look first", "Done.", 1],
  ["\n<think>\na < b </thin\n</think>Done </think>.", "\na < b </thin\n", "Done </think>.", 1],
  ["<think></think>Done.", "", "Done.", 1],
  ["<think>look</think> \n", "look", "", 1],
  ["<think>look", "look", "", 1],
  ["<thin air> is no tag", "", "<thin air> is no tag", 0],
  ["  Done <think>late</think>", "", "  Done <think>late</think>", 0],
  ["<thi", "", "<thi", 0],
  ["", "", "", 0],
])("%j is split wherever the network cuts it", (content, thinking, text, blocks) => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const found = read(seed === 1 ? [content] : cut(content, seeded(seed)));
    expect({ thinking: found.thinking, text: found.text }).toEqual({ thinking, text });
    expect(found.blocks).toHaveLength(blocks);
    expect(found.blocks.join("") + found.text).toBe(content);
  }
});
