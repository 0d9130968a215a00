import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkLines, koda, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { type Script, startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

type Run = { script: Script; model: string; flags?: readonly string[]; prompt?: string };

async function run(place: Place, { script, model, flags = [], prompt = "Change the files." }: Run) {
  await using server = await startModelServer(script);
  const ran = await koda(place, ["exec", "--json", ...using(server, model), ...flags, prompt]);
  return { ...ran, ...checkLines(ran), requests: server.requests };
}

function editors(tools: readonly string[] = []): string[] {
  return tools.filter((name) => name === "Edit" || name === "ApplyPatch");
}

const patch = [
  "*** Begin Patch",
  "*** Update File: a.txt",
  "@@",
  " one",
  "-two",
  "+2",
  "*** Update File: b.txt",
  "*** Move to: d/c.txt",
  "*** Add File: new.txt",
  "+new",
  "*** End Patch",
].join("\n");

test("a model of OpenAI's family changes several files by one patch", async () => {
  await using place = makePlace({ "a.txt": "one\ntwo\n", "b.txt": "b\n" });
  const { events, end, requests } = await run(place, {
    model: "gpt-5.5",
    script: [
      [call("Read", { path: "a.txt" }), call("Read", { path: "b.txt" })],
      call("ApplyPatch", { patch }),
      say("Both files are changed."),
    ],
  });
  expect(requests.map(({ tools }) => editors(tools))).toEqual([["ApplyPatch"], ["ApplyPatch"], ["ApplyPatch"]]);
  expect(end).toMatchObject({ status: "done", tools: { ok: 3, failed: 0, denied: 0 }, files_changed: 4 });
  expect(end).not.toHaveProperty("incomplete");
  expect(events.find((event) => event.type === "tool.start" && event.tool === "ApplyPatch")).toMatchObject({
    effect: "write",
  });
  const diff = events.find((event) => event.type === "diff");
  expect(diff?.files).toEqual([
    { path: "a.txt", kind: "update", added: 1, removed: 1 },
    { path: "b.txt", kind: "delete", added: 0, removed: 1 },
    { path: "d/c.txt", kind: "add", added: 1, removed: 0 },
    { path: "new.txt", kind: "add", added: 1, removed: 0 },
  ]);
  expect(readFileSync(join(place.project, "a.txt"), "utf8")).toBe("one\n2\n");
  expect(readFileSync(join(place.project, "d/c.txt"), "utf8")).toBe("b\n");
});

test("people see the files of a patch", async () => {
  await using place = makePlace({});
  await using server = await startModelServer([
    call("ApplyPatch", { patch: "*** Begin Patch\n*** Add File: a.txt\n+a\n*** Add File: b.txt\n+b\n*** End Patch" }),
    say("Done."),
  ]);
  const { stderr } = await koda(place, ["exec", ...using(server, "gpt-5.5"), "Add the files."]);
  expect(stderr).toContain("● ApplyPatch a.txt, b.txt\n");
});

test("a change that failed is no change: a claim of one is not believed", async () => {
  await using place = makePlace({ "a.txt": "one\n" });
  const bad = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n";
  const { requests } = await run(place, {
    model: "gpt-5.5",
    prompt: "Fix the typo in a.txt",
    script: [call("ApplyPatch", { patch: bad }), say("I've fixed a.txt."), say("I could not fix it.")],
  });
  expect(requests[1]?.lines.at(-1)?.text).toContain('no line "*** End Patch"');
  expect(requests[2]?.lines.at(-1)).toMatchObject({ role: "user", text: expect.stringContaining("Go on") });
  expect(readFileSync(join(place.project, "a.txt"), "utf8")).toBe("one\n");
});

describe("the editing tool", () => {
  const rows: [what: string, model: string, flags: string[], tools: string[]][] = [
    ["is ApplyPatch for OpenAI's models", "gpt-5.5", [], ["ApplyPatch"]],
    ["is ApplyPatch for them behind a vendor's name", "openai/gpt-oss-120b", [], ["ApplyPatch"]],
    ["is Edit for others", "claude-sonnet-4-5", [], ["Edit"]],
    ["is Edit with --edit edit", "gpt-5.5", ["--edit", "edit"], ["Edit"]],
    ["is ApplyPatch with --edit patch", "scripted", ["--edit", "patch"], ["ApplyPatch"]],
    [
      "is the model's own when --allow-tool names the other",
      "gpt-5.5",
      ["--allow-tool", "Edit", "--allow-tool", "Write", "--allow-tool", "Delete"],
      ["ApplyPatch"],
    ],
    ["is the model's own when --allow-tool names ApplyPatch", "scripted", ["--allow-tool", "ApplyPatch"], ["Edit"]],
    ["is Edit where files may not be made or deleted", "gpt-5.5", ["--allow-tool", "Edit"], ["Edit"]],
    ["is Edit without Write", "gpt-5.5", ["--deny-tool", "Write"], ["Edit"]],
    ["is Edit without Delete", "gpt-5.5", ["--deny-tool", "Delete", "--allow-tool", "ApplyPatch"], ["Edit"]],
    ["is denied by either name", "gpt-5.5", ["--deny-tool", "Edit"], []],
    ["is denied by either name, whatever the model", "scripted", ["--deny-tool", "ApplyPatch"], []],
  ];

  test.concurrent.each(rows)("%s", async (_, model, flags, tools) => {
    await using place = makePlace();
    const { requests, events } = await run(place, { model, flags, script: [say("ok")] });
    expect(editors(requests[0]?.tools)).toEqual(tools);
    const [start] = events;
    expect(start?.type === "session.start" && editors(start.tools)).toEqual(tools);
  });

  test("may be used by the name that was allowed, or that of its twin", async () => {
    await using place = makePlace({ "a.txt": "one\n" });
    const { end } = await run(place, {
      model: "scripted",
      flags: ["--allow-tool", "ApplyPatch", "--allow-tool", "Read"],
      script: [
        call("Read", { path: "a.txt" }),
        call("Edit", { path: "a.txt", edits: [{ old: "one", new: "two" }] }),
        say("Done."),
      ],
    });
    expect(end).toMatchObject({ tools: { ok: 2 }, files_changed: 1 });
  });

  test("is what the configuration says of a model", async () => {
    await using place = makePlace();
    configure(place, { providers: { custom: { models: { mine: { edit: "patch" }, "gpt-9": { edit: "edit" } } } } });
    for (const [model, tool] of [
      ["mine", "ApplyPatch"],
      ["gpt-9", "Edit"],
    ] as const) {
      const { requests } = await run(place, { model, script: [say("ok")] });
      expect(editors(requests[0]?.tools)).toEqual([tool]);
    }
  });

  test("stays what --edit made it when a session goes on, until another flag or model", async () => {
    await using place = makePlace();
    const ways: [string[], string, string][] = [
      [["--session", "mine", "--edit", "patch"], "scripted", "ApplyPatch"],
      [["--resume", "mine"], "scripted", "ApplyPatch"],
      [["--fork", "mine"], "scripted", "ApplyPatch"],
      [["--resume", "mine", "--edit", "edit"], "scripted", "Edit"],
      [["--resume", "mine"], "scripted", "Edit"],
      [["--resume", "mine"], "gpt-5.5", "ApplyPatch"],
    ];
    for (const [flags, model, tool] of ways) {
      const { requests } = await run(place, { model, flags, script: [say("ok")] });
      expect({ flags, tools: editors(requests[0]?.tools) }).toEqual({ flags, tools: [tool] });
    }
  });

  test("that another agent has is answered with the one that is offered", async () => {
    await using place = makePlace();
    for (const [model, wrong, right] of [
      ["gpt-5.5", "Edit", "ApplyPatch"],
      ["gpt-5.5", "apply_patch", "ApplyPatch"],
      ["scripted", "apply_patch", "Edit"],
      ["scripted", "ApplyPatch", "Edit"],
    ] as const) {
      const { requests } = await run(place, { model, script: [call(wrong, {}), say("Sorry.")] });
      expect(requests[1]?.lines.at(-1)?.text).toStartWith(`Unknown tool "${wrong}" (did you mean ${right}?)`);
    }
  });

  const withoutFiles: [flag: string, tool: string][] = [
    ["--deny-tool", "Write"],
    ["--allow-tool", "Edit"],
  ];
  test.each(withoutFiles)("cannot be ApplyPatch by --edit patch with %s %s", async (flag, tool) => {
    await using place = makePlace();
    const { end, requests } = await run(place, {
      model: "gpt-5.5",
      flags: ["--edit", "patch", flag, tool],
      script: [],
    });
    expect(end).toMatchObject({ exit: 2, error: { code: "usage" } });
    expect(end.error?.message).toContain("--edit patch cannot be used without Write and Delete");
    expect(requests).toHaveLength(0);
  });
});
