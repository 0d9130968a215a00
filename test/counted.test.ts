import { expect, test } from "bun:test";
import { counted } from "../lib/counted.ts";

test("counts have their nouns in the right number", () => {
  expect([counted(0, "file"), counted(1, "file"), counted(1_234, "file")]).toEqual([
    "0 files",
    "1 file",
    "1,234 files",
  ]);
  expect([counted(1, "entry", "entries"), counted(2, "entry", "entries")]).toEqual(["1 entry", "2 entries"]);
});
