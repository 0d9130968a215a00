import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { exec, type Line } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { makePlace, type Place, tree } from "../support/place.ts";

const program = resolve("test/support/mcp-program.ts");
const echo = JSON.stringify({ tools: [{ name: "echo", does: "echo" }] });

/** The files of a plugin with one of everything. */
function pluginFiles(name: string, more: Record<string, unknown> = {}): Record<string, string> {
  const about = {
    name,
    version: "1.2.0",
    tools: { command: "./serve", args: [echo] },
    prompt: { slot: "before", priority: 1, text: `Words of ${name}.` },
    hooks: [{ on: "tool.before", match: ".*__echo", command: '"${PLUGIN_ROOT}/note"' }],
    ...more,
  };
  return {
    "plugin.json": JSON.stringify(about),
    serve: `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`,
    note: "#!/bin/sh\necho ran > hooked\n",
    "skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n",
  };
}

/** Puts files below a directory. */
function put(directory: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    if (content.startsWith("#!")) chmodSync(path, 0o755);
  }
}

/** The server's program is one of this tree, which may lie in a temporary directory that the sandbox hides. */
function run(place: Place, model: ModelServer, flags: readonly string[] = []) {
  return exec(place, model, [...flags, "--allow-read", tree, "go"]);
}

const userPlugins = ({ home }: Place) => join(home, ".config/koda/plugins");

function startOf([first]: readonly Line[]) {
  if (first?.type !== "session.start") throw new Error(`The first event is ${first?.type}`);
  return first;
}

const noticesOf = (events: readonly Line[]) =>
  events.flatMap((event) => (event.type === "notice" && event.code === "plugin" ? [event.message] : []));

test("a plugin adds a server, a text, hooks and skills", async () => {
  await using place = makePlace({ "AGENTS.md": "Words of the project." });
  put(join(userPlugins(place), "corp"), pluginFiles("corp"));
  await using model = await startModelServer([call("corp__echo", { a: 1 }), say("Done.")]);
  const { events, end } = await run(place, model);
  expect(end).toMatchObject({ status: "done", tools: { ok: 1 } });
  const start = startOf(events);
  expect(start.plugins).toEqual([
    { name: "corp", version: "1.2.0", revision: expect.stringMatching(/^[0-9a-f]{16}$/) },
  ]);
  expect(start).toMatchObject({ mcp: [{ name: "corp", status: "connected" }], skills: ["tidy"], skipped: [] });
  expect(model.requests[0]?.raw).toMatch(/Words of corp\..*Words of the project\./);
  expect(existsSync(join(place.project, "hooked"))).toBe(true);
});

test("any change in a plugin's files is another revision", async () => {
  await using place = makePlace();
  const directory = join(userPlugins(place), "corp");
  put(directory, pluginFiles("corp"));
  await using model = await startModelServer([say("Done."), say("Done."), say("Done.")]);
  const revision = async () => startOf((await run(place, model)).events).plugins[0]?.revision;
  const first = await revision();
  expect(await revision()).toBe(first);
  put(directory, { note: "#!/bin/sh\n" });
  expect(await revision()).not.toBe(first);
});

test("a project's plugins do nothing until the project is trusted", async () => {
  await using place = makePlace();
  put(join(place.project, ".koda/plugins/corp"), pluginFiles("corp"));
  await using model = await startModelServer([say("Done."), call("corp__echo", {}), say("Done.")]);
  const without = startOf((await run(place, model)).events);
  expect(without).toMatchObject({ plugins: [], mcp: [], skills: [], skipped: [".koda/plugins/corp"] });
  expect(model.requests[0]?.raw).not.toContain("Words of corp");
  const trusted = startOf((await run(place, model, ["--trust-project"])).events);
  expect(trusted).toMatchObject({ plugins: [{ name: "corp" }], skills: ["tidy"], skipped: [] });
  expect(existsSync(join(place.project, "hooked"))).toBe(true);
});

test("the user's own server counts before a plugin's of that name", async () => {
  await using place = makePlace();
  put(join(userPlugins(place), "corp"), pluginFiles("corp"));
  const own = { command: process.execPath, args: [program, JSON.stringify({ tools: [{ name: "mine" }] })] };
  writeFileSync(join(place.home, ".config/koda/config.json"), JSON.stringify({ mcp: { servers: { corp: own } } }));
  await using model = await startModelServer([say("Done.")]);
  const { tools } = startOf((await run(place, model)).events);
  expect(tools.filter((name) => name.startsWith("corp__"))).toEqual(["corp__mine"]);
});

test("texts of one place are in the order of their priority", async () => {
  await using place = makePlace();
  for (const [name, priority] of [
    ["a", 1],
    ["b", 9],
    ["c", 5],
  ] as const)
    put(join(userPlugins(place), name), {
      "plugin.json": JSON.stringify({ name, version: "1", prompt: { priority, text: `Words of ${name}.` } }),
    });
  await using model = await startModelServer([say("Done.")]);
  await run(place, model);
  expect(model.requests[0]?.raw).toMatch(/Words of b\..*Words of c\..*Words of a\./);
});

test("a broken plugin is a notice that names the file and the fault", async () => {
  const rows = [
    ["{", "JSON"],
    ["[]", "the top level is [], expected an object"],
    [{ name: "other", version: "1" }, '"name" is "other", expected the directory\'s name "corp"'],
    [{ name: "corp" }, '"version" is missing, expected a non-empty string'],
    [{ name: "corp", version: "1", hook: [] }, 'unknown key "hook" in the top level (did you mean "hooks"?)'],
    [{ name: "corp", version: "1", hooks: [{ on: "tool.befor" }] }, '"hooks[0].on" is "tool.befor"'],
    [{ name: "corp", version: "1", tools: {} }, 'not loaded: "tools" needs either "command" or "url"'],
    [
      { name: "corp", version: "1", tools: { command: ["x"] } },
      '"tools.command" is ["x"], expected a non-empty string',
    ],
    [{ name: "corp", version: "1", tools: { comand: "x" } }, 'unknown key "comand"'],
    [{ name: "corp", version: "1", prompt: { slot: "middle", text: "x" } }, '"prompt.slot" is "middle"'],
    [{ name: "corp", version: "1", prompt: {} }, '"prompt.text" is not a text'],
  ] as const;
  for (const [content, fault] of rows) {
    await using place = makePlace();
    const text = typeof content === "string" ? content : JSON.stringify(content);
    put(join(userPlugins(place), "corp"), { "plugin.json": text });
    await using model = await startModelServer([say("Done.")]);
    const { events, end } = await run(place, model);
    expect(end.status).toBe("done");
    expect(noticesOf(events)).toHaveLength(1);
    expect(noticesOf(events)[0]).toContain(`${userPlugins(place)}/corp/plugin.json" is not loaded: `);
    expect(noticesOf(events)[0]).toContain(fault);
  }
});
