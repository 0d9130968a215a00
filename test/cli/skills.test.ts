import { describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { exec, type Line } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { type ModelRequestSeen, startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

/** The file of a skill. */
function skill(name: string, { about = `About ${name}.`, body = `Do ${name}.`, fields = "" } = {}): string {
  return `---\nname: ${name}\ndescription: ${about}\n${fields}---\n${body}\n`;
}

/** Puts a file into the user's home; returns its path. */
function keep({ home }: Place, path: string, text: string): string {
  const target = join(home, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  return target;
}

const textOf = (seen: ModelRequestSeen | undefined) => seen?.lines.map(({ text }) => text).join("\n") ?? "";
const startOf = (events: readonly Line[]) => events.find((event) => event.type === "session.start");
const noticesOf = (events: readonly Line[]) =>
  events.flatMap((event) => (event.type === "notice" && event.code === "skill" ? [event.message] : []));
const endsOf = (events: readonly Line[]) => events.filter((event) => event.type === "tool.end");

describe("the model is told of", () => {
  const places = [".koda/skills", ".agents/skills", ".claude/skills"];

  test.each([...places, ".config/koda/skills"])(
    "the user's skills in ~/%s, by name, description and path",
    async (directory) => {
      await using place = makePlace();
      await using server = await startModelServer([say("Done.")]);
      const path = keep(place, `${directory}/deploy/SKILL.md`, skill("deploy", { body: "The secret steps." }));
      const { events } = await exec(place, server, ["hello"]);
      expect(textOf(server.requests[0])).toContain(`\n- deploy: About deploy. (${path})\n`);
      expect(textOf(server.requests[0])).not.toContain("secret steps");
      expect(startOf(events)).toMatchObject({ skills: ["deploy"], skipped: [] });
      expect(startOf(events)?.tools).toContain("Skill");
    },
  );

  test.each(places)("a project's skills in %s only when it is trusted", async (directory) => {
    await using place = makePlace({ [`${directory}/deploy/SKILL.md`]: skill("deploy") });
    await using server = await startModelServer([say("Done."), say("Done.")]);
    const without = await exec(place, server, ["hello $deploy"]);
    expect(startOf(without.events)).toMatchObject({ skills: [], skipped: [`${directory}/deploy`] });
    expect(server.requests[0]?.raw).not.toContain("About deploy");
    expect(server.requests[0]?.raw).not.toContain("Do deploy");

    const trusted = await exec(place, server, ["--trust-project", "hello"]);
    expect(startOf(trusted.events)).toMatchObject({ skills: ["deploy"], skipped: [] });
    expect(trusted.end.resume).toEndWith(" --trust-project");
    expect(textOf(server.requests[1])).toContain(
      `- deploy: About deploy. (${place.project}/${directory}/deploy/SKILL.md)`,
    );
  });

  test("none where there are none, and with --bare", async () => {
    await using place = makePlace();
    await using server = await startModelServer([say("Done."), say("Done.")]);
    expect(startOf((await exec(place, server, ["hello"])).events)?.tools).not.toContain("Skill");
    keep(place, ".agents/skills/deploy/SKILL.md", skill("deploy"));
    const { events } = await exec(place, server, ["--bare", "hello"]);
    expect(startOf(events)).toMatchObject({ skills: [] });
    expect(server.requests.map(({ raw }) => raw.includes("Skill"))).toEqual([false, false]);
  });

  test("those of the home that one works in, as the user's", async () => {
    await using place = makePlace({ ".agents/skills/deploy/SKILL.md": skill("deploy") });
    await using server = await startModelServer([say("Done.")]);
    const { events } = await exec(place, server, ["hello"], { env: { HOME: place.project } });
    expect(startOf(events)).toMatchObject({ skills: ["deploy"], skipped: [] });
  });

  test("a project's skill in place of the user's of that name", async () => {
    await using place = makePlace({ ".claude/skills/deploy/SKILL.md": skill("deploy", { about: "The project's." }) });
    await using server = await startModelServer([say("Done.")]);
    keep(place, ".agents/skills/deploy/SKILL.md", skill("deploy", { about: "The user's." }));
    await exec(place, server, ["--trust-project", "hello"]);
    expect(textOf(server.requests[0])).toContain("The project's.");
    expect(textOf(server.requests[0])).not.toContain("The user's.");
  });
});

test("the model loads a skill, and reads what lies beside it, also where koda keeps its state", async () => {
  // Not in /tmp, which is another one for commands.
  await using place = makePlace({}, "/var/tmp");
  const KODA_HOME = join(place.home, "koda");
  keep(place, "koda/skills/deploy/SKILL.md", skill("deploy", { body: "Follow steps.md." }));
  const steps = keep(place, "koda/skills/deploy/steps.md", "Push the button.\n");
  await using server = await startModelServer([
    call("Skill", { name: "deploy" }),
    [
      call("Read", { path: steps }),
      call("Bash", { command: `cat ${steps}` }),
      call("Read", { path: `${KODA_HOME}/koda.db` }),
    ],
    say("Done."),
  ]);
  const { events, end } = await exec(place, server, ["deploy it"], { env: { KODA_HOME } });
  expect(textOf(server.requests[1])).toContain(
    `<skill name="deploy" directory="${dirname(steps)}">\nFollow steps.md.\n</skill>`,
  );
  expect(endsOf(events).filter(({ ok }) => !ok)).toMatchObject([{ denied: expect.stringContaining("koda.db") }]);
  expect(textOf(server.requests[2]).match(/Push the button/g)).toHaveLength(2);
  expect(end.tools).toEqual({ ok: 3, failed: 0, denied: 1 });
});

test("instructions that are a link to a file elsewhere open that directory to no one", async () => {
  await using place = makePlace({}, "/var/tmp");
  const key = keep(place, ".aws/credentials", "secret");
  const directory = join(place.home, ".agents/skills/linked");
  mkdirSync(directory, { recursive: true });
  symlinkSync(keep(place, ".aws/SKILL.md", skill("linked")), join(directory, "SKILL.md"));
  await using server = await startModelServer([
    call("Skill", { name: "linked" }),
    [call("Read", { path: key }), call("Bash", { command: `cat ${key}` })],
    say("Done."),
  ]);
  const { events, end } = await exec(place, server, ["hello"]);
  expect(startOf(events)).toMatchObject({ skills: ["linked"] });
  expect(textOf(server.requests[1])).toContain(`<skill name="linked" directory="${directory}">\nDo linked.`);
  expect(end.tools).toEqual({ ok: 1, failed: 1, denied: 1 });
  expect(server.requests[2]?.raw).not.toContain("secret");
});

test("instructions that would fill the window are cut, and the model reads the rest", async () => {
  await using place = makePlace();
  const lines = Array.from({ length: 2000 }, (_, n) => `${n}: keep going.`).join("\n");
  const path = keep(place, ".agents/skills/long/SKILL.md", skill("long", { body: lines }));
  await using server = await startModelServer([call("Read", { path, start_line: 1900 }), say("Done.")]);
  const { exit } = await exec(place, server, ["--config", "model_defaults.context_window=20000", "$long"]);
  const text = textOf(server.requests[0]);
  expect([exit, text.includes("700: keep going"), text.includes("1500: keep going")]).toEqual([0, true, false]);
  expect(text).toContain(`[Cut after 14000 bytes: Read "${path}" to see the rest.]`);
  expect(textOf(server.requests[1])).toContain("1950: keep going");
});

test("a skill that the prompt names is loaded at once, and text that is piped in names none", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  for (const name of ["deploy", "other"]) keep(place, `.agents/skills/${name}/SKILL.md`, skill(name));
  const { events } = await exec(place, server, ["use $deploy for $HOME"], { stdin: "$other\n" });
  const text = textOf(server.requests[0]);
  expect(text).toContain("Do deploy.");
  expect(text).not.toContain("Do other.");
  expect(text.indexOf("Do deploy.")).toBeLessThan(text.indexOf("use $deploy for $HOME"));
  expect(noticesOf(events)).toEqual(['Loaded the skill "deploy"']);
});

describe("allowed-tools", () => {
  const spellings = [
    "allowed-tools: [Read]",
    'allowed-tools: "Read, Grep"',
    "allowed_tools: Read",
    "allowedTools: Read",
    'allowed-tools: ""',
  ];

  test.each(spellings)("as %s deny a command", async (line) => {
    await using place = makePlace();
    keep(place, ".agents/skills/look/SKILL.md", skill("look", { fields: `${line}\n` }));
    await using server = await startModelServer([call("Bash", { command: "true" }), say("Done.")]);
    const { end } = await exec(place, server, ["$look"]);
    expect(end.tools).toEqual({ ok: 0, failed: 0, denied: 1 });
  });

  test("nearly spelt, the skill is not loaded", async () => {
    await using place = makePlace();
    keep(place, ".agents/skills/look/SKILL.md", skill("look", { fields: "alowed-tools: Read\n" }));
    keep(place, ".agents/skills/open/SKILL.md", skill("open", { fields: "disallowed-tools: Read\n" }));
    await using server = await startModelServer([say("Done.")]);
    const { events } = await exec(place, server, ["go"]);
    expect(noticesOf(events)).toEqual([
      expect.stringContaining('unknown key "alowed-tools" in its front matter (did you mean "allowed-tools"?)'),
    ]);
    expect(textOf(server.requests[0])).toContain("- open: ");
  });

  const fields = "allowed-tools: Read Bash(echo:*)\n";

  test("are enforced, while the tools that are offered stay the same", async () => {
    await using place = makePlace({ "a.txt": "text" });
    keep(place, ".agents/skills/look/SKILL.md", skill("look", { fields }));
    keep(place, ".agents/skills/free/SKILL.md", skill("free"));
    await using server = await startModelServer([
      [call("Skill", { name: "look" }), call("Write", { path: "b.txt", content: "b" })],
      [
        call("Write", { path: "b.txt", content: "b" }),
        call("Bash", { command: "echo hi" }),
        call("Bash", { command: "touch c.txt" }),
        call("Bash", { command: "echo hi && touch c.txt" }),
        call("Read", { path: "a.txt" }),
      ],
      call("Skill", { name: "free" }),
      call("Write", { path: "b.txt", content: "b" }),
      say("Done."),
    ]);
    const { events, end } = await exec(place, server, ["look"]);
    const denied = 'the skill "look" allows only Read, Bash(echo:*)';
    expect(endsOf(events).map((event) => event.denied)).toEqual([
      undefined,
      denied,
      denied,
      undefined,
      denied,
      denied,
      undefined,
      undefined,
      undefined,
    ]);
    expect(end.tools).toEqual({ ok: 5, failed: 0, denied: 4 });
    const bodies = server.requests.map(({ raw }) => JSON.parse(raw) as { tools: unknown });
    for (const { tools } of bodies) expect(tools).toEqual(bodies[0]?.tools);
    const texts = server.requests.map(({ lines }) => lines.map(({ text }) => text));
    for (const text of texts) expect(text).toEqual(texts.at(-1)?.slice(0, text.length) ?? []);
  });

  test("with a misspelt tool are told at the start, with the file and the tool that was meant", async () => {
    await using place = makePlace();
    const others = "Bash(git:*) WebCrawler github__search mcp__files__read files__*";
    const path = keep(
      place,
      ".agents/skills/look/SKILL.md",
      skill("look", { fields: `allowed-tools: raed ${others}\n` }),
    );
    keep(place, ".agents/skills/run/SKILL.md", skill("run", { fields: "allowed-tools: [bash(git status), Read]\n" }));
    await using server = await startModelServer([say("Done.")]);
    const { events } = await exec(place, server, ["hello"]);
    const told = (file: string, name: string, meant: string) =>
      `The skill "${file}" allows "${name}", which is the name of no tool (did you mean "${meant}"?)`;
    expect(noticesOf(events)).toEqual([told(path, "raed", "Read"), told(path.replace("look", "run"), "bash", "Bash")]);
  });

  test("of a skill that the prompt names hold for that run, and for one that goes on with its task", async () => {
    await using place = makePlace();
    keep(place, ".agents/skills/look/SKILL.md", skill("look", { fields }));
    const write = () => call("Write", { path: "b.txt", content: "b" });
    await using server = await startModelServer([write(), write(), say("Done."), write(), say("Done.")]);
    const cut = await exec(place, server, ["--session", "s", "--max-turns", "1", "$look around"]);
    const continued = await exec(place, server, ["--resume", "s"]);
    const next = await exec(place, server, ["--resume", "s", "now write"]);
    expect([cut, continued, next].map(({ end }) => end.tools.denied)).toEqual([0, 1, 0]);
  });
});

test("the active skill survives a compaction, with what it allows", async () => {
  const page = `${"word ".repeat(20)}\n`.repeat(100);
  await using place = makePlace(Object.fromEntries([...Array(12).keys()].map((n) => [`p${n}.txt`, page])));
  keep(
    place,
    ".agents/skills/look/SKILL.md",
    skill("look", { fields: "allowed-tools: Read\n", body: "Mind the gap." }),
  );
  let pages = 0;
  await using server = await startModelServer((seen) => {
    const last = seen.lines.at(-1)?.text ?? "";
    if (last.startsWith("The conversation is about to outgrow")) return [say("Goal: look.")];
    if (pages === 0 && !textOf(seen).includes("Mind the gap")) return [call("Skill", { name: "look" })];
    if (pages < 12) return [call("Read", { path: `p${pages++}.txt` })];
    return last.startsWith("Denied") ? [say("Done.")] : [call("Write", { path: "b.txt", content: "b" })];
  });
  const { events, end } = await exec(place, server, ["--config", "model_defaults.context_window=20000", "look"]);
  expect(events.filter(({ type }) => type === "compact").length).toBeGreaterThan(0);
  expect(textOf(server.requests.at(-1)).match(/Mind the gap/g)).toHaveLength(1);
  expect(end.tools.denied).toBe(1);
});

test("a resumed session is told only of skills that are new, different or gone", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done."), say("Done."), say("Done.")]);
  for (const name of ["same", "other", "gone"]) keep(place, `.agents/skills/${name}/SKILL.md`, skill(name));
  await exec(place, server, ["--session", "s", "hello"]);
  keep(place, ".agents/skills/other/SKILL.md", skill("other", { about: "Changed." }));
  keep(place, ".agents/skills/fresh/SKILL.md", skill("fresh"));
  keep(place, ".agents/skills/gone/SKILL.md", "");
  await exec(place, server, ["--resume", "s", "again"]);
  await exec(place, server, ["--resume", "s", "again"]);
  const told = (index: number) => server.requests[index]?.lines.map(({ text }) => text) ?? [];
  const news = told(1).slice(told(0).length).join("\n");
  expect(news).toContain("- other: Changed.");
  expect(news).toContain("- fresh: About fresh.");
  expect(news).toContain("Skills that cannot be loaded any more: gone");
  expect(news).not.toContain("same");
  expect(told(1).slice(0, told(0).length)).toEqual(told(0));
  expect(told(2).slice(told(1).length).join("\n")).not.toContain("<skills>");
});

const broken: [what: string, put: (directory: string, place: Place) => void, problem: string][] = [
  ["without front matter", (at) => writeFileSync(`${at}/SKILL.md`, "Hello."), '"name" is missing, expected "bad"'],
  ["of another name", (at) => writeFileSync(`${at}/SKILL.md`, skill("good")), '"name" is "good", expected "bad"'],
  [
    "of invalid YAML",
    (at) => writeFileSync(`${at}/SKILL.md`, "---\nname: bad\nx: a: b\n---\n"),
    "line 3: invalid YAML",
  ],
  [
    "with too long a description",
    (at) => writeFileSync(`${at}/SKILL.md`, skill("bad", { about: "x".repeat(1025) })),
    '"description" is longer than 1024',
  ],
  [
    "with a circle of aliases",
    (at) => writeFileSync(`${at}/SKILL.md`, "---\nname: bad\ndescription: &a [*a]\n---\n"),
    '"description" is a list',
  ],
  [
    "with aliases for gigabytes",
    (at) => writeFileSync(`${at}/SKILL.md`, bomb()),
    "line 9: invalid YAML (Excessive aliasing)",
  ],
  [
    "of endless depth",
    (at) => writeFileSync(`${at}/SKILL.md`, `---\na: ${"[".repeat(15_000)}\n---\n`),
    "line 2: invalid YAML",
  ],
  ["that is not UTF-8", (at) => writeFileSync(`${at}/SKILL.md`, Buffer.from([0x2d, 0xff, 0xfe])), "it is not UTF-8"],
  ["that is a named pipe", (at) => void Bun.spawnSync(["mkfifo", `${at}/SKILL.md`]), "it is a named pipe, not a file"],
  ["that is a directory", (at) => mkdirSync(`${at}/SKILL.md`), "it is a directory, not a file"],
  ["that is a link to nothing", (at) => symlinkSync("nowhere", `${at}/SKILL.md`), "it is a broken symbolic link"],
  [
    "that is a link out of the project",
    (at, place) => symlinkSync(keep(place, "SKILL.md", skill("bad")), `${at}/SKILL.md`),
    "it is a link out of the project",
  ],
  ["that is a device", (at) => symlinkSync("/dev/zero", `${at}/SKILL.md`), "it is a link out of the project"],
];

/** Ten letters, each nine times the one before. */
function bomb(): string {
  const rows = [..."abcdefghi"].map((name, index, all) =>
    index === 0
      ? "a: &a [x,x,x,x,x,x,x,x,x]"
      : `${name}: &${name} [${Array(9)
          .fill(`*${all[index - 1]}`)
          .join(",")}]`,
  );
  return `---\n${rows.join("\n")}\ndescription: *i\n---\n`;
}

test.each(broken)("a skill %s is a notice that names the file, and the others work", async (_, put, problem) => {
  await using place = makePlace({ ".agents/skills/good/SKILL.md": skill("good") });
  await using server = await startModelServer([say("Done.")]);
  const directory = join(place.project, ".agents/skills/bad");
  mkdirSync(directory);
  put(directory, place);
  const { events, exit } = await exec(place, server, ["--trust-project", "hello"]);
  expect(exit).toBe(0);
  expect(noticesOf(events)).toEqual([
    expect.stringContaining(`The skill ".agents/skills/bad/SKILL.md" is not loaded: ${problem}`),
  ]);
  expect(startOf(events)).toMatchObject({ skills: ["good"] });
});

test("a name cannot pass for another line, or reorder one", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done."), say("Done.")]);
  for (const name of ["a\u202eb", "a\n! b"]) place.write(`.agents/skills/${name}/SKILL.md`, "---\nname: x\n---\n");
  const untrusted = await exec(place, server, ["hello"]);
  const trusted = await exec(place, server, ["--trust-project", "hello"]);
  for (const { stdout, stderr } of [untrusted, trusted]) expect(stdout + stderr).not.toMatch(/\u202e|^! b/m);
  expect(startOf(untrusted.events)?.skipped).toEqual([".agents/skills/a\\n! b", ".agents/skills/a\\u202eb"]);
  expect(noticesOf(trusted.events)).toHaveLength(2);
});

test("a directory of skills that is a link out of the project is not read", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  keep(place, "private/good/SKILL.md", skill("good"));
  mkdirSync(join(place.project, ".claude"));
  symlinkSync(join(place.home, "private"), join(place.project, ".claude/skills"));
  const { events } = await exec(place, server, ["--trust-project", "hello"]);
  expect(startOf(events)).toMatchObject({ skills: [] });
  expect(noticesOf(events)).toEqual(['The skills in ".claude/skills" are not read: it is a link out of the project']);
});

test("a link within the project is followed, and a skill behind two of them is one", async () => {
  await using place = makePlace({ ".agents/skills/good/SKILL.md": skill("good") });
  await using server = await startModelServer([say("Done.")]);
  mkdirSync(join(place.project, ".claude/skills"), { recursive: true });
  symlinkSync("../../.agents/skills/good", join(place.project, ".claude/skills/good"));
  const { events } = await exec(place, server, ["--trust-project", "hello"]);
  expect(startOf(events)).toMatchObject({ skills: ["good"] });
  expect(noticesOf(events)).toEqual([]);
});

test("ten thousand skills, one of them of a gigabyte, neither delay a run nor fill the window", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done."), say("Done.")]);
  const root = join(place.project, ".agents/skills");
  for (let n = 0; n < 10_000; n++) {
    const name = `s${String(n).padStart(5, "0")}`;
    const file = join(root, name, "SKILL.md");
    mkdirSync(dirname(file), { recursive: true });
    // As many files of their own as are read, and more.
    if (n > 300) linkSync(join(root, "s00300/SKILL.md"), file);
    else writeFileSync(file, skill(name, { about: "x".repeat(1000) }));
  }
  Bun.spawnSync(["truncate", "-s", "1G", join(root, "s00000/SKILL.md")]);
  const startedAt = performance.now();
  const untrusted = await exec(place, server, ["hello"]);
  expect(startOf(untrusted.events)?.skipped).toHaveLength(21);
  expect(startOf(untrusted.events)?.skipped.at(-1)).toBe(".agents/skills: 9980 more");
  const trusted = await exec(place, server, ["--trust-project", "hello"]);
  expect(startOf(trusted.events)?.skills).toHaveLength(199);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(server.requests[1]?.raw.length).toBeLessThan(80_000);
  expect(noticesOf(trusted.events)).toEqual([
    '".agents/skills" has 10000 skills: only the first 200 are read',
    'The skill ".agents/skills/s00000/SKILL.md" is not loaded: it is not text',
  ]);
}, 60_000);
