import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { exec } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

function keep({ home }: Place, name: string, text: string | Uint8Array): string {
  const path = join(home, ".config/koda", name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** The prompt that the model was sent. */
const asked = ({ requests }: ModelServer) => requests.at(-1)?.lines.at(-1)?.text;

const review = "---\ndescription: Reviews.\n---\nReview $ARGUMENTS, and $ARGUMENTS again.\n";

const uses: [prompt: string, sent: string][] = [
  ["/review src/ and $& more", "Review src/ and $& more, and src/ and $& more again."],
  ["/review", "Review , and  again."],
  ["/plain", "Do it."],
  ["/plain with care\nand joy", "Do it.\n\nwith care\nand joy"],
];

test.each(uses)("%j is a prompt that the user keeps", async (prompt, sent) => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  keep(place, "prompts/review.md", review);
  keep(place, "prompts/plain.md", "Do it.\n");
  const { exit } = await exec(place, server, [prompt]);
  expect([exit, asked(server)]).toEqual([0, sent]);
});

const texts = [
  "/etc/hosts is wrong",
  "/tmp is full",
  "/",
  "// is a comment",
  "what is /plain",
  "/plain/x",
  "/plain: why?",
];

test.each(texts)("%j is text", async (prompt) => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  keep(place, "prompts/plain.md", "Do it.\n");
  const { events } = await exec(place, server, [prompt]);
  expect(asked(server)).toBe(prompt);
  expect(events.filter(({ type }) => type === "notice")).toEqual([]);
});

test("a name that is nearly that of a prompt is text, with a notice", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  keep(place, "prompts/review.md", review);
  const { stderr } = await exec(place, server, ["/reveiw src"]);
  expect(asked(server)).toBe("/reveiw src");
  expect(stderr).toContain('No prompt is named "/reveiw" (did you mean "/review"?): it is sent as text');
});

test("a prompt in a file or on stdin may name one, and piped input stays behind it", async () => {
  await using place = makePlace({ "p.md": "/plain fast\n" });
  await using server = await startModelServer([say("Done."), say("Done."), say("Done.")]);
  keep(place, "prompts/plain.md", "Do it.\n");
  await exec(place, server, ["-f", "p.md"]);
  expect(asked(server)).toBe("Do it.\n\nfast");
  await exec(place, server, ["-"], { stdin: "/plain fast\n" });
  expect(asked(server)).toBe("Do it.\n\nfast");
  await exec(place, server, ["/plain fast"], { stdin: "/plain data\n" });
  expect(asked(server)).toBe("Do it.\n\nfast\n\n<stdin>\n/plain data\n</stdin>");
});

test("a project's prompts count only when it is trusted, and then before the user's", async () => {
  await using place = makePlace({ ".koda/prompts/plain.md": "The project's.\n" });
  await using server = await startModelServer([say("Done."), say("Done."), say("Done.")]);
  const untrusted = await exec(place, server, ["/plain"]);
  expect([asked(server), untrusted.events[0]]).toMatchObject(["/plain", { skipped: [".koda/prompts/plain.md"] }]);
  keep(place, "prompts/plain.md", "The user's.\n");
  await exec(place, server, ["/plain"]);
  expect(asked(server)).toBe("The user's.");
  const trusted = await exec(place, server, ["--trust-project", "/plain"]);
  expect([asked(server), trusted.events[0]]).toMatchObject(["The project's.", { skipped: [] }]);
});

test("a prompt may name a skill, and a skill in its arguments is loaded too", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  for (const name of ["one", "two"])
    keep(place, `skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: d\n---\nSteps of ${name}.\n`);
  keep(place, "prompts/plain.md", "Use $one.\n");
  await exec(place, server, ["/plain and $two"]);
  expect(server.requests[0]?.raw).toContain("Steps of one.");
  expect(server.requests[0]?.raw).toContain("Steps of two.");
});

describe("a broken prompt that is asked for is a usage error that names the file:", () => {
  const broken: [what: string, put: (path: string, place: Place) => void, problem: string][] = [
    ["empty", (path) => writeFileSync(path, "---\nx: y\n---\n \n"), "there is no text in it"],
    ["not UTF-8", (path) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0x61])), "it is not UTF-8"],
    ["too large", (path) => writeFileSync(path, "x".repeat(256 * 1024 + 1)), "it is larger than 256 KiB"],
    ["bad front matter", (path) => writeFileSync(path, "---\nx: y: z\n---\nDo it."), "line 2: invalid YAML"],
    ["a named pipe", (path) => void Bun.spawnSync(["mkfifo", path]), "it is a named pipe, not a file"],
    ["a link out", (path, place) => symlinkSync(keep(place, "x", "Leak."), path), "it is a link out of the project"],
  ];
  for (const [what, put, problem] of broken)
    test(what, async () => {
      await using place = makePlace();
      await using server = await startModelServer([say("Done.")]);
      mkdirSync(join(place.project, ".koda/prompts"), { recursive: true });
      put(join(place.project, ".koda/prompts/bad.md"), place);
      const { end } = await exec(place, server, ["--trust-project", "/bad thing"]);
      const message = `The prompt ".koda/prompts/bad.md" cannot be used: ${problem}`;
      expect(end).toMatchObject({ exit: 2, error: { code: "usage", message: expect.stringContaining(message) } });
      expect(server.requests).toEqual([]);
    });
});
