import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { exitByCode } from "../../lib/errors.ts";

const page = readFileSync("docs/troubleshooting.md", "utf8");
const [, ...sections] = page.split(/^### /m);

test("every error code has its place, and no other", () => {
  const headings = sections.map((section) => section.split("\n", 1)[0] ?? "");
  expect(headings.toSorted()).toEqual(Object.keys(exitByCode).toSorted());
});

/** The sources, with texts that are joined by a plus as one text. */
const sources = [...new Bun.Glob("{cmd,lib}/**/*.ts").scanSync()]
  .map((path) => readFileSync(path, "utf8").replace(/["`] \+\s+["`]/g, ""))
  .join("\n");

test("each message is one that koda prints", () => {
  const messages = [...page.matchAll(/^- `([^`]+)`/gm)].map(([, message = ""]) => message);
  expect(messages.length).toBeGreaterThan(60);
  const missing = messages.filter((message) =>
    message.split(/\s*…\s*/).some((part) => !sources.includes(part) && !sources.includes(part.replaceAll('"', '\\"'))),
  );
  expect(missing).toEqual([]);
});

test("each error code has a message or a reason", () => {
  for (const section of sections) expect(section).toMatch(/^\w+\n\n- `/);
});
