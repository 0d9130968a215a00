import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { linesFrom } from "../../lib/fleet/work/lines.ts";
import { masksFor } from "../../lib/fleet/work/masks.ts";
import { limitsFor } from "../../lib/fleet/work/childarguments.ts";
import { withoutPasswords } from "../../lib/fleet/work/usergit.ts";
import { git, makeRepository, usualSettings } from "../support/fleetplace.ts";
import { makePlace } from "../support/place.ts";

const streamOf = (chunks: readonly string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });

for (const [name, chunks, lines] of [
  ["in one piece", ["a\nb\n"], ["a", "b"]],
  ["in many pieces", ["a", "b", "\n", "c\nd", "e\n"], ["ab", "c", "de"]],
  ["with a part that never ends", ["a\nb"], ["a"]],
  [
    "with one that is too long, at once or in pieces",
    ["a\n", "12345678901\n", "1234567", "8901", "2\nb\n"],
    ["a", "b"],
  ],
  ["with one that is just not too long", ["1234567890\n"], ["1234567890"]],
  ["without text", ["\n", "\n"], ["", ""]],
] as const)
  test(`lines come ${name}`, async () => {
    expect(await Array.fromAsync(linesFrom(streamOf(chunks), { most: 10 }))).toEqual([...lines]);
  });

test("the last line of a file needs no line feed, but may not be too long either", async () => {
  const linesOf = (text: string) => Array.fromAsync(linesFrom(streamOf([text]), { most: 10, isFile: true }));
  expect(await Promise.all(["a\nb", "a\n", "a\n12345678901"].map(linesOf))).toEqual([["a", "b"], ["a"], ["a"]]);
});

const hard = { A_PASSWORD: "schlüsselwort", PEM_KEY: "the-first-line-of-it\n  second-line-of-it\n}\n" };
const env = { MY_TOKEN: 'va"lue-of-it', SHORT_KEY: "none", HOME: "/home/someone", OTHER: "of-an-endpoint", ...hard };

for (const [kind, text, masked] of [
  ["redacted", JSON.stringify({ text: 'is va"lue-of-it' }), '{"text":"is [key]"}'],
  ["redacted", "none in /home/someone, sk-proj-abcdefgh", "none in /home/someone, [key]"],
  ["full", 'va"lue-of-it, sk-proj-abcdefgh', "[key], sk-proj-abcdefgh"],
  ["redacted", "of-an-endpoint", "[key]"],
  ["redacted", JSON.stringify(JSON.stringify("\nsk-proj-abcdefgh")), String.raw`"\"\\n[key]\""`],
  ["redacted", "\u001b[31msk-proj-abcdefgh", "\u001b[31m[key]"],
  ["full", JSON.stringify(JSON.stringify('va"lue-of-it')), String.raw`"\"[key]\""`],
  ["full", Buffer.from("schlüsselwort").toString("latin1"), "[key]"],
  ["full", "of several lines: second-line-of-it", "of several lines: [key]"],
] as const)
  test(`transcripts that are ${kind} have ${masked} for ${text}`, () => {
    expect(masksFor(kind, env, ["OTHER"]).text(text)).toBe(masked);
  });

test("only lines that a patch adds are masked, whatever bytes are in it", () => {
  const patch = Buffer.concat([
    Buffer.from('-va"lue-of-it\n+ va"lue-of-it '),
    Buffer.from([255, 0]),
    Buffer.from("\n"),
  ]);
  const masked = masksFor(usualSettings.transcripts, env).patch(patch);
  expect(Buffer.from(masked).toString("latin1")).toBe('-va"lue-of-it\n+ [key] \xff\0\n');
});

test("a large patch of many lines is masked in little memory", async () => {
  const program = `
    import { masksFor } from "${join(import.meta.dir, "../../lib/fleet/work/masks.ts")}";
    const patch = Buffer.from("+a\\n".repeat(4_000_000) + "+value-of-it\\n+b\\n");
    const before = process.resourceUsage().maxRSS;
    const masked = Buffer.from(masksFor("full", { MY_TOKEN: "value-of-it" }).patch(patch));
    console.log(masked.subarray(-10).toString(), process.resourceUsage().maxRSS - before < 200_000);`;
  const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe" });
  expect(await child.stdout.text()).toBe("+[key]\n+b\n true\n");
});

test("a patch can be applied although a secret is the name of a file, and has no line of a longer one", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "old-of-an-endpoint": "a\n" });
  const { PEM_KEY, MY_TOKEN } = env;
  for (const [name, text] of [
    ["new-of-an-endpoint", PEM_KEY],
    ["old-of-an-endpoint", "b\n"],
    [MY_TOKEN, "c\n"],
    ["of-an-endpoint.bin", "\0"],
  ] as const)
    writeFileSync(join(repo, name), text);
  git(place, repo, "add", "--all");
  const patch = git(place, repo, "diff", "--binary", "--no-renames", "--cached");
  const masked = Buffer.from(masksFor("full", env, ["OTHER"]).patch(Buffer.from(patch))).toString();
  git(place, repo, "reset", "--quiet", "--hard");
  writeFileSync(join(place.home, "masked.patch"), masked);
  git(place, repo, "apply", join(place.home, "masked.patch"));
  expect(readdirSync(repo).toSorted()).toEqual([".git", "[key]", "[key].bin", "new-[key]", "old-of-an-endpoint"]);
  expect(readFileSync(join(repo, "new-[key]"), "utf8")).toBe("[key]\n  [key]\n}\n");
});

for (const [task, grant, spent, limits] of [
  [{}, {}, { costUsd: 1, tokens: 1 }, {}],
  [{ maxTokens: 10 }, {}, { costUsd: 0, tokens: 4 }, { tokens: { most: 6, isShared: false } }],
  [{ maxTokens: 10 }, { tokens: 5 }, { costUsd: 0, tokens: 4 }, { tokens: { most: 5, isShared: true } }],
  [{ maxTokens: 10 }, { tokens: 9 }, { costUsd: 0, tokens: 4 }, { tokens: { most: 6, isShared: false } }],
  [{}, { costUsd: 0.5 }, { costUsd: 9, tokens: 0 }, { costUsd: { most: 0.5, isShared: true } }],
  [{ maxCost: 1 }, {}, { costUsd: 2, tokens: 0 }, { costUsd: { most: 0.000001, isShared: false } }],
] as const)
  test(`the limits of a run for ${JSON.stringify({ task, grant, spent })}`, () => {
    const whole = { key: "a", prompt: "", args: [], after: [], group: "", labels: [], ...task };
    expect(limitsFor(whole, { grant, spent })).toEqual(limits);
  });

test("the passwords of addresses are taken from a long line of words in no time", () => {
  const words = "a".repeat(64 * 1024);
  const startedAt = performance.now();
  expect(withoutPasswords(`${words} of https://me:secret@example.com/a`)).toBe(`${words} of https://***@example.com/a`);
  expect(performance.now() - startedAt).toBeLessThan(100);
});
