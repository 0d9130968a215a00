import { expect, test } from "bun:test";
import { createFileLog } from "../../lib/session/files.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("a file that was seen whole is current until its content is another", () => {
  const log = createFileLog();
  log.saw("/a", "héllo 😀");
  expect(log.hasSeen("/a")).toBe(true);
  expect(log.isCurrent("/a", bytes("héllo 😀"))).toBe(true);
  expect(log.hasChanged("/a", bytes("héllo 😀"))).toBe(false);
  expect(log.isCurrent("/a", "hello 😀")).toBe(false);
  expect(log.hasChanged("/a", "hello 😀")).toBe(true);
  expect(log.hasSeen("/b")).toBe(false);
});

test("of a file that was seen in part the version is known, but it is not in front of the model", () => {
  const log = createFileLog();
  log.sawPart("/a", "one\ntwo");
  expect(log.hasSeen("/a")).toBe(true);
  expect(log.isCurrent("/a", "one\ntwo")).toBe(false);
  expect(log.hasChanged("/a", "one\ntwo")).toBe(false);
  expect(log.hasChanged("/a", "one\ntwo!")).toBe(true);
});

test("a part of what was seen whole takes nothing away, a part of another version does", () => {
  const log = createFileLog();
  log.saw("/a", "one");
  log.sawPart("/a", bytes("one"));
  expect(log.isCurrent("/a", "one")).toBe(true);
  log.sawPart("/a", "two");
  expect(log.isCurrent("/a", "one")).toBe(false);
  expect(log.isCurrent("/a", "two")).toBe(false);
  expect(log.hasChanged("/a", "two")).toBe(false);
});

test("forgetting a directory forgets what is below it, and no neighbour whose name begins alike", () => {
  const log = createFileLog();
  for (const path of ["/d/a", "/d/e/b", "/d2/a"]) {
    log.saw(path, "x");
    log.created(path);
  }
  log.forget("/d");
  expect(log.hasSeen("/d/a")).toBe(false);
  expect(log.isOwn("/d/e/b")).toBe(false);
  expect(log.hasSeen("/d2/a")).toBe(true);
  expect(log.isOwn("/d2/a")).toBe(true);
});
