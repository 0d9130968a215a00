import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { asInDocker, programWithout } from "../support/denied.ts";
import { binary, checkLines, exec, type Line, using } from "../support/koda.ts";
import { onceOffered } from "../support/mcp.ts";
import { modern, packaged, startEverything, startModern } from "../support/mcp-packages.ts";
import { call, say } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { asNobody, isRoot, nobody } from "../support/nobody.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { finished, spawnIn } from "../support/run.ts";
import { giveAway, users } from "../support/tiers.ts";

const tiers = ["namespaces", "landlock"] as const;
const rows = tiers.flatMap((tier) => users.map((user) => ({ tier, user })));

const results = (events: readonly Line[]) =>
  events.flatMap((event) => (event.type === "tool.end" ? [[event.tool, event.ok, event.summary] as const] : []));

describe.each(rows)("servers from npm over stdio, in the tier $tier as $user", ({ tier, user }) => {
  async function run(place: Place, server: ModelServer) {
    const tierOf = tier === "landlock" ? [programWithout(asInDocker, dirname(place.project))] : [];
    const asUser = user === "nobody" ? asNobody : [];
    if (isRoot && user === "nobody") giveAway(dirname(place.project), nobody);
    const argv = [...asUser, ...tierOf, binary, "exec", "--json", ...using(server), "go"];
    const ran = checkLines(await finished(spawnIn(place, argv)));
    expect(ran.events[0]).toMatchObject({ sandbox: { backend: tier } });
    return ran;
  }

  test("filesystem reads and writes the project, and nothing beside it", async () => {
    await using place = makePlace({ "notes/a.txt": "one\ntwo\n", "../beside": "other\n" }, "/var/tmp");
    const named = ["read_text_file", "list_directory", "search_files", "edit_file", "write_file", "move_file"];
    const enabled = { enabled_tools: named };
    configure(place, { mcp: { servers: { fs: packaged("filesystem", ["/"], enabled) } } });
    const at = (path: string) => join(place.project, path);
    await using model = await startModelServer([
      call("fs__read_text_file", { path: at("notes/a.txt") }),
      call("fs__search_files", { path: place.project, pattern: "**/a.txt" }),
      call("fs__edit_file", { path: at("notes/a.txt"), edits: [{ oldText: "two", newText: "three" }] }),
      call("fs__write_file", { path: at("new.txt"), content: "new\n" }),
      call("fs__move_file", { source: at("new.txt"), destination: at("moved.txt") }),
      call("fs__write_file", { path: at("../beside"), content: "changed\n" }),
      call("fs__read_text_file", { path: at("missing") }),
      say("Done."),
    ]);
    const { events, end } = await run(place, model);
    const [read, found, edited, written, moved, beside, missing] = results(events);
    expect(read).toEqual(["fs__read_text_file", true, expect.stringContaining("two")]);
    expect(found).toEqual(["fs__search_files", true, expect.stringContaining(at("notes/a.txt"))]);
    for (const each of [edited, written, moved]) expect(each?.[1], JSON.stringify(each)).toBe(true);
    for (const each of [beside, missing]) expect(each?.[1], JSON.stringify(each)).toBe(false);
    expect(readFileSync(at("notes/a.txt"), "utf8")).toBe("one\nthree\n");
    expect(readFileSync(at("moved.txt"), "utf8")).toBe("new\n");
    expect(readFileSync(at("../beside"), "utf8")).toBe("other\n");
    expect(end.files_changed).toBe(2);
    const diff = events.find((event) => event.type === "diff");
    expect(diff?.files.map(({ path }) => path).sort()).toEqual(["moved.txt", "notes/a.txt"]);
  });

  test("memory keeps what it is told in a file of the project", async () => {
    await using place = makePlace({}, "/var/tmp");
    const env = { MEMORY_FILE_PATH: join(place.project, "memory.jsonl") };
    configure(place, { mcp: { servers: { memory: packaged("memory", [], { env }) } } });
    const entity = { name: "Ada", entityType: "person", observations: ["wrote the first program"] };
    await using model = await startModelServer([
      call("memory__create_entities", { entities: [entity] }),
      call("memory__add_observations", { observations: [{ entityName: "Ada", contents: ["liked horses"] }] }),
      call("memory__search_nodes", { query: "horses" }),
      call("memory__delete_entities", { entityNames: ["Ada"] }),
      say("Done."),
    ]);
    const { events, end } = await run(place, model);
    expect(results(events).map(([, ok]) => ok)).toEqual([true, true, true, false]);
    expect(results(events)[2]?.[2]).toContain("wrote the first program");
    expect(end.tools.denied).toBe(1);
    expect(readFileSync(join(place.project, "memory.jsonl"), "utf8")).toContain("liked horses");
  });

  test("everything and sequential-thinking do what their tools say", async () => {
    await using place = makePlace({}, "/var/tmp");
    const servers = { all: packaged("everything"), seq: packaged("sequential-thinking") };
    configure(place, { mcp: { servers } });
    const thought = { thought: "First.", thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true };
    await using model = await startModelServer([
      ...everythingScript,
      call("seq__sequentialthinking", thought),
      say("Done."),
    ]);
    const { events } = await run(place, model);
    expectEverything(events);
    expect(results(events).at(-1)).toEqual([
      "seq__sequentialthinking",
      true,
      expect.stringContaining('"thoughtNumber":1'),
    ]);
  });
});

test("everything does the same over HTTP, unless the network's rules deny it", async () => {
  await using place = makePlace();
  await using server = await startEverything(place);
  configure(place, { mcp: { servers: { all: { url: server.url } } } });
  await using model = await startModelServer([...everythingScript, say("Done.")]);
  const { events, end } = await exec(place, model, ["go"]);
  expectEverything(events);
  expect(end.status).toBe("done");

  await using refused = await startModelServer([say("Done.")]);
  const denied = await exec(place, refused, ["--deny-net", new URL(server.url).host, "go"]);
  expect(denied.events[0]).toMatchObject({
    mcp: [{ name: "all", status: "failed", error: expect.stringContaining(new URL(server.url).host) }],
  });
});

test("a tool that runs only as a task is waited for", async () => {
  await using place = makePlace();
  configure(place, { mcp: { servers: { all: packaged("everything") } } });
  await using model = await startModelServer([call("all__simulate-research-query", { topic: "shells" }), say("Done.")]);
  const { events } = await exec(place, model, ["go"]);
  expect(results(events)).toEqual([
    ["all__simulate-research-query", true, expect.stringContaining("Research Report: shells")],
  ]);
}, 15_000);

test("a server that knows only the protocol of 2026 is served, and its changes are heard", async () => {
  await using place = makePlace();
  configure(place, { mcp: { servers: { new: modern() } } });
  const first = [call("new__echo", { text: "hello" }), call("new__grow")];
  await using model = await startModelServer(onceOffered("new__grown", first, [call("new__grown"), say("Done.")]));
  const { events } = await exec(place, model, ["go"]);
  expect(model.requests[0]?.raw).toContain("Be brief.");
  const ofServer = results(events).filter(([tool]) => tool !== "Bash");
  expect(ofServer.map(([, ok, summary]) => [ok, summary])).toEqual([
    [true, "hello"],
    [true, "grows"],
    [true, "grown"],
  ]);
});

test("a server that knows only the protocol of 2026 is served over HTTP", async () => {
  await using place = makePlace();
  await using server = await startModern(place);
  configure(place, { mcp: { servers: { new: { url: server.url, required: true } } } });
  await using model = await startModelServer([call("new__echo", { text: "hello" }), say("Done.")]);
  const { events } = await exec(place, model, ["go"]);
  expect(model.requests[0]?.raw).toContain("Be brief.");
  expect(results(events)).toEqual([["new__echo", true, "hello"]]);
});

const everythingScript = [
  call("all__echo", { message: "hello" }),
  call("all__get-sum", { a: 2, b: 40 }),
  call("all__get-tiny-image"),
  call("all__get-structured-content", { location: "Chicago" }),
  call("all__get-annotated-message", { messageType: "error", includeImage: true }),
  call("all__get-resource-links", { count: 2 }),
  call("all__get-resource-reference", { resourceType: "Text", resourceId: 1 }),
  call("all__trigger-long-running-operation", { duration: 0.2, steps: 2 }),
  call("McpList", { server: "all" }),
  call("McpRead", { server: "all", prompt: "args-prompt", arguments: { city: "Bonn" } }),
  call("McpRead", { server: "all", uri: "demo://resource/dynamic/text/7" }),
];

const everythingResults = [
  "Echo: hello",
  "The sum of 2 and 40 is 42.",
  "[image/png image]",
  '"humidity":82',
  "Error: Operation failed[image/png image]",
  '[resource "Text Resource 2": demo://resource/dynamic/text/2]',
  "Resource 1: This is a plaintext resource",
  "Long running operation completed.",
  "prompt args-prompt(city, state)",
  "What's weather in Bonn?",
  "Resource 7: This is a plaintext resource",
];

function expectEverything(events: readonly Line[]): void {
  const found = results(events).slice(0, everythingScript.length);
  expect(found.map(([, ok, summary]) => [ok, summary])).toEqual(
    everythingResults.map((text) => [true, expect.stringContaining(text)]),
  );
  const output = events.flatMap((event) => (event.type === "tool.output" ? [event.text] : []));
  expect(output.join("")).toContain("1/2\n2/2\n");
}
