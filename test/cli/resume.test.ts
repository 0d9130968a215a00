import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { openStore } from "../../lib/session/store.ts";
import { checkLines, koda, type RanExec, start } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { noUsage } from "../../lib/model/usage.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

const scripted = async () => await startModelServer(() => say("ok"));

async function run(place: Place, args: readonly string[], env: Record<string, string> = {}): Promise<RanExec> {
  const ran = await koda(place, ["exec", "--json", ...args], { env });
  return { ...ran, ...checkLines(ran) };
}

const databaseOf = ({ home }: Place) => join(home, ".local/share/koda/koda.db");
const corpAt = (url: string, more: object = {}) => ({ providers: { corp: { base_url: url, ...more } } });
const settingsOf = ({ requests }: ModelServer) =>
  requests.map(({ wire, body }) => [wire, body.model, body.temperature, body.max_output_tokens, body.reasoning]);

describe("the settings of a session's requests", () => {
  const flags = ["--reasoning-effort", "low", "--temperature", "0.5", "--max-output-tokens", "77"];
  const kept = ["responses", "x", 0.5, 77, { effort: "low" }];
  const other = { KODA_MODEL: "other/y", OTHER_KEY: "sk-of-another" };

  test("are kept by every way of going on, whatever files and variables say by then", async () => {
    await using place = makePlace();
    await using server = await scripted();
    await using elsewhere = await scripted();
    configure(place, corpAt(server.url));
    await run(place, ["-m", "corp/x", "--wire", "responses", ...flags, "--session", "mine", "hi"]);

    const { providers } = corpAt(server.url, { wire: "chat" });
    configure(place, { model: "other/y", providers: { ...providers, other: { base_url: elsewhere.url } } });
    const ways = [
      ["--resume", "mine"],
      ["--last"],
      ["--session", "mine"],
      ["--fork", "mine"],
      ["-m", "corp/x", "--last"],
    ];
    for (const way of ways) expect((await run(place, [...way, "and?"], other)).end.exit).toBe(0);
    expect(settingsOf(server)).toEqual([kept, ...ways.map(() => kept)]);
    expect(elsewhere.requests).toHaveLength(0);
  });

  test("change with a flag, and the next time it is that one that is kept", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const at = ["--base-url", server.url];
    await run(place, ["-m", "x", ...at, "--wire", "responses", ...flags, "--session", "mine", "hi"]);
    await run(place, [...at, "--resume", "mine", "one"]);
    await run(place, [...at, "--resume", "mine", "--temperature", "0.9", "--reasoning-effort", "high", "two"]);
    await run(place, [...at, "--resume", "mine", "three"]);
    const changed = ["responses", "x", 0.9, 77, { effort: "high" }];
    expect(settingsOf(server)).toEqual([kept, kept, changed, changed]);
    await run(place, [...at, "--resume", "mine", "--wire", "chat", "four"]);
    const fork = await run(place, [...at, "--fork", "mine", "five"]);
    await run(place, [...at, "--resume", fork.end.session ?? "", "six"]);
    const last = server.requests.slice(4).map(({ wire, body }) => [wire, body.temperature, body.reasoning_effort]);
    expect(last).toEqual(last.map(() => ["chat", 0.9, "high"]));
    expect(last).toHaveLength(3);
  });

  test("are those of the last run, even when they changed while the session was waited for", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const at = ["--base-url", server.url];
    await run(place, ["-m", "x", ...at, ...flags, "--session", "mine", "hi"]);
    await using store = openStore(databaseOf(place));
    const holder = await store.open("mine");
    const waiting = start(place, ["exec", ...at, "--resume", "mine", "--wait", "30s", "and?"]);
    const decoder = new TextDecoder();
    for await (const bytes of waiting.stderr) {
      if (!decoder.decode(bytes, { stream: true }).includes("waiting up to")) continue;
      const { environment } = holder;
      if (environment?.connection === undefined) throw new Error("this session has no connection");
      const connection = { ...environment.connection, temperature: 0.9, wire: "responses" as const };
      holder.append({ kind: "environment", text: "", facts: { ...environment, connection } });
      holder.close();
    }
    expect(await waiting.exited).toBe(0);
    expect(settingsOf(server).at(-1)).toEqual(["responses", "x", 0.9, 77, { effort: "low" }]);
  });

  test("are those of its own model: another one starts without them", async () => {
    await using place = makePlace();
    await using server = await scripted();
    configure(place, { providers: { one: { base_url: server.url }, two: { base_url: `${server.origin}/two/v1` } } });
    await run(place, ["-m", "one/x", "--wire", "responses", ...flags, "--session", "mine", "hi"]);
    await run(place, ["--resume", "mine", "-m", "two/x", "and?"]);
    await run(place, ["--resume", "mine", "-m", "two/y", "and?"]);
    expect(settingsOf(server).slice(1)).toEqual([
      ["chat", "x", undefined, undefined, undefined],
      ["chat", "y", undefined, undefined, undefined],
    ]);
  });
});

describe("a session whose provider cannot be used names itself and the flag that goes on", () => {
  const ways = [["--resume", "mine"], ["--last"], ["--fork", "mine"], ["--session", "mine"]];

  /** Every way of going on fails like this and leaves the session as it was; the one with the flag goes on. */
  async function refused(place: Place, code: string, exit: number, parts: readonly string[], env = {}) {
    const before = await koda(place, ["session", "list", "--json"]);
    for (const way of ways) {
      const { end } = await run(place, [...way, "and?"], env);
      expect(end).toMatchObject({ status: "failed", exit, session: null, error: { code } });
      for (const part of ['"mine"', ...parts]) expect(end.error?.message).toContain(part);
    }
    expect((await koda(place, ["session", "list", "--json"])).stdout).toBe(before.stdout);
  }

  test("its name means another address now", async () => {
    await using place = makePlace();
    await using before = await scripted();
    await using after = await scripted();
    const env = { OPENAI_API_KEY: "sk-of-the-company" };
    await run(place, ["-m", "openai/x", "--session", "mine", "hi"], { ...env, OPENAI_BASE_URL: before.url });
    const now = { ...env, OPENAI_BASE_URL: after.url };
    const parts = [`at ${before.url}`, `now at ${after.url} (OPENAI_BASE_URL)`];
    const [stay, leave] = [before, after].map(({ url }) => `--base-url ${url} --api-key-env OPENAI_API_KEY`);
    await refused(place, "config", 2, [...parts, `To stay, pass ${stay}`, `new address, pass ${leave}`], now);
    expect((await run(place, ["--resume", "mine", ...(stay ?? "").split(" "), "and?"], now)).end.status).toBe("done");
    expect([before.requests.length, after.requests.length]).toEqual([2, 0]);
  });

  test("its key is missing", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const env = { OPENAI_BASE_URL: server.url, TEAM_KEY: "sk-of-the-team" };
    await run(place, ["-m", "openai/x", "--api-key-env", "TEAM_KEY", "--session", "mine", "hi"], env);
    const parts = [
      "openai/x, with the key in TEAM_KEY (--api-key-env TEAM_KEY)",
      "set OPENAI_API_KEY",
      "-m PROVIDER/MODEL",
    ];
    await refused(place, "credentials", 4, parts, env);
    const there = await run(place, ["--resume", "mine", "--api-key-env", "TEAM_KEY", "and?"], env);
    expect(there.end.status).toBe("done");
  });

  test("it was removed from the configuration, and the only one left does not take its place", async () => {
    await using place = makePlace();
    await using server = await scripted();
    await using left = await scripted();
    const env = { CORP_KEY: "sk-of-the-company" };
    configure(place, corpAt(server.url, { api_key_env: "CORP_KEY", wire: "responses" }));
    await run(place, ["-m", "corp/x", "--temperature", "0.5", "--session", "mine", "hi"], env);
    configure(place, { providers: { other: { base_url: left.url } } });
    const stay = `--base-url ${server.url} --api-key-env CORP_KEY`;
    await refused(place, "config", 2, ['"corp" is not configured any more', "providers.corp", `pass ${stay}`], env);
    const there = await run(place, ["--resume", "mine", ...stay.split(" "), "and?"], env);
    expect(there.events[0]).toMatchObject({ type: "session.start", provider: "corp", model: "x", wire: "responses" });
    expect(there.stderr).not.toContain("continuing with");
    expect(server.requests[1]?.body).toMatchObject({ model: "x", temperature: 0.5 });
    expect(left.requests).toHaveLength(0);
  });

  test("it has no name", async () => {
    await using place = makePlace();
    await using server = await scripted();
    await run(place, ["-m", "x", "--base-url", server.url, "--session", "mine", "hi"]);
    const parts = ["is not known", '"x"', `Pass --base-url ${server.url}`, "-m PROVIDER/MODEL"];
    await refused(place, "config", 2, parts, { OPENAI_API_KEY: "sk-of-the-company" });
    expect((await run(place, ["--last", "--base-url", server.url, "and?"])).end.status).toBe("done");
  });
});

describe("of the environment a resumed session is told what has changed", () => {
  const flagsOf = ({ url }: ModelServer) => ["-m", "x", "--base-url", url];
  /** The text of the last request's messages that the one before it did not have, without the last prompt. */
  const news = ({ requests }: ModelServer) => {
    const [before, last] = requests.slice(-2);
    return (last?.lines ?? []).slice((before?.lines.length ?? 0) + 1, -1).map(({ text }) => text);
  };

  test("instructions that were changed, added or removed, and no others", async () => {
    const files = { "AGENTS.md": "Use tabs.\n", "sub/AGENTS.md": "Use spaces.\n", ".git/HEAD": "" };
    await using place = makePlace(files, "/var/tmp");
    await using server = await scripted();
    const goOn = async (...args: string[]) =>
      expect((await run(place, [...flagsOf(server), "-C", "sub", ...args, "and?"])).end.exit).toBe(0);
    const block = (path: string, text: string) =>
      `<instructions file="${place.project}/${path}">\n${text}\n</instructions>`;
    const gone = (path: string) => `Instructions that do not apply any more: ${place.project}/${path}`;
    await goOn("--session", "mine");
    await goOn("--last");
    expect(news(server)).toEqual([]);

    place.write("AGENTS.md", "Use two tabs.\n");
    await goOn("--fork", "mine");
    expect(news(server)).toEqual([expect.stringMatching(/^The project's instructions have changed\./)]);
    expect(news(server)[0]).toEndWith(`\n\n${block("AGENTS.md", "Use two tabs.")}`);
    await goOn("--last");
    expect(news(server)).toEqual([]);

    rmSync(`${place.project}/AGENTS.md`);
    place.write("CLAUDE.md", "Use commas.\n");
    await goOn("--last");
    expect(news(server)[0]).toEndWith(`\n\n${block("CLAUDE.md", "Use commas.")}\n\n${gone("AGENTS.md")}`);
    expect(news(server)[0]).not.toContain("spaces");

    await goOn("--last", "--deny-read", "../CLAUDE.md");
    expect(news(server)).toEqual([expect.stringContaining(gone("CLAUDE.md"))]);
    await goOn("--last", "--bare");
    expect(news(server)[0]).toEndWith(gone("sub/AGENTS.md"));
  });

  test("the directory, the mode and the rest, once", async () => {
    await using place = makePlace({ "sub/a.txt": "" });
    await using server = await scripted();
    await run(place, [...flagsOf(server), "--session", "mine", "hi"]);
    const changes = ["--mode", "plan", "--no-sandbox", "--allow-write", "..", "-C", "sub"];
    const goOn = async (...args: string[]) =>
      expect((await run(place, ["--base-url", server.url, "--resume", "mine", ...args, "and?"])).end.exit).toBe(0);
    await goOn(...changes);
    const [told, ...more] = news(server);
    expect(more).toEqual([]);
    expect(told?.split("\n").map((line) => line.split(":")[0])).toEqual([
      "<environment>",
      "Changed since the last turn",
      "cwd",
      "mode",
      "sandbox",
      "writable",
      "</environment>",
    ]);
    await goOn(...changes, "-m", "y");
    expect(news(server)).toEqual([
      "<environment>\nChanged since the last turn:\nmodel: custom/y (what came before is of custom/x)\n</environment>",
    ]);
  });
});

test("the first event says which session it is, where it comes from and how hard it thinks", async () => {
  await using place = makePlace();
  await using server = await scripted();
  const first = async (...args: string[]) => {
    const { events } = await run(place, ["-m", "x", "--base-url", server.url, ...args]);
    const [start] = events;
    if (start?.type !== "session.start") throw new Error("this run did not start");
    return start;
  };
  const trunk = await first("--session", "trunk", "--reasoning-effort", "high", "\n Fix the\ttest \nof today");
  const title = "Fix the test";
  expect(trunk).toMatchObject({ root: "trunk", title, source: "new", resumed: false, effort: "high" });
  expect(trunk).not.toHaveProperty("parent");
  const again = await first("--resume", "trunk", "and?");
  expect(again).toMatchObject({ root: "trunk", title, source: "resume", resumed: true, effort: "high" });

  const fork = await first("--fork", "trunk", "and?");
  expect(fork).toMatchObject({ root: "trunk", parent: "trunk", title, source: "fork", resumed: true, effort: "high" });
  const twig = await first("--fork", fork.session, "and?");
  expect(twig).toMatchObject({ root: "trunk", parent: fork.session, source: "fork" });
  expect(await first("--last", "and?")).toMatchObject({ session: twig.session, root: "trunk", source: "resume" });

  const plain = await first("hi");
  expect(plain).toMatchObject({ root: plain.session, title: "hi", source: "new" });
  expect(plain).not.toHaveProperty("effort");
});

describe("a log that another version of koda wrote", () => {
  /** A database of the first schema, with a session and two forks of it, whose items have no later field. */
  function oldDatabase(place: Place) {
    const path = databaseOf(place);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    using db = new Database(path);
    db.run(firstSchema());
    const facts = { cwd: place.project, date: "2026-01-02", mode: "plan", sandbox: "on", writable: [place.project] };
    const items = [
      { kind: "turn_start" },
      { kind: "environment", text: "<environment>", facts: { ...facts, model: "x", provider: "corp" } },
      { kind: "user", parts: [{ type: "text", text: "the old prompt" }] },
      { kind: "assistant", parts: [{ type: "text", text: "the old answer" }], finish: "stop", usage: noUsage },
      { kind: "turn_end", reason: "complete" },
    ];
    for (const [at, item] of items.entries())
      db.run("INSERT INTO content VALUES (?, ?)", [at + 1, JSON.stringify(item)]);
    const sessions = [
      ["trunk", null],
      ["branch", "trunk"],
      ["twig", "branch"],
      ["orphan", "removed"],
    ] as const;
    for (const [id, parent] of sessions) {
      const row = [id, parent, "the old prompt", place.project, "x", "corp", "plan", 1, 1, items.length];
      db.run("INSERT INTO session VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, 0, 1, NULL, NULL, NULL, NULL)", row);
      for (const [at, { kind }] of items.entries())
        db.run("INSERT INTO item VALUES (?, ?, 1, ?, 1, ?)", [id, at + 1, kind, at + 1]);
    }
    return path;
  }

  test("is migrated, and its sessions go on", async () => {
    await using place = makePlace({ "AGENTS.md": "Use tabs.\n" });
    await using server = await scripted();
    configure(place, corpAt(server.url));
    oldDatabase(place);
    const twig = await run(place, ["--resume", "twig", "and?"]);
    expect(twig.events[0]).toMatchObject({ root: "trunk", parent: "branch", title: "the old prompt", mode: "plan" });
    const texts = server.requests[0]?.lines.map(({ text }) => text).slice(1);
    expect(texts?.slice(0, 3)).toEqual(["<environment>", "the old prompt", "the old answer"]);
    expect(texts?.[3]).toContain("Use tabs.");
    expect(texts?.[4]).toBe("and?");
    const roots = [];
    for (const id of ["trunk", "branch", "orphan"]) {
      const { events } = await run(place, ["--fork", id, "and?"]);
      roots.push(events[0]?.type === "session.start" && events[0].root);
    }
    expect(roots).toEqual(["trunk", "trunk", "removed"]);
  });

  test("and has an item that this version does not know: nothing is done, and the message says so", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const flags = ["-m", "x", "--base-url", server.url];
    await run(place, [...flags, "--session", "mine", "hi"]);
    {
      using db = new Database(databaseOf(place));
      db.run(`UPDATE content SET body = '{"kind":"hologram","size":3}' WHERE body LIKE '%assistant%'`);
    }
    const before = await koda(place, ["session", "list", "--json"]);
    const said = 'item 4 of session "mine" cannot be read (this version of koda does not know the kind "hologram")';
    for (const way of [["--resume", "mine"], ["--fork", "mine"], ["--session", "mine"], ["--last"]]) {
      const { end } = await run(place, [...flags, ...way, "and?"]);
      expect(end).toMatchObject({ exit: 10, session: null, error: { code: "store" } });
      expect(end.error?.message).toContain(`${said}. Update koda, or remove the session`);
    }
    const shown = await koda(place, ["session", "show", "mine"]);
    expect([shown.exit, shown.stderr]).toEqual([10, expect.stringContaining(said)]);
    expect((await koda(place, ["session", "list", "--json"])).stdout).toBe(before.stdout);
    expect(server.requests).toHaveLength(1);
    expect((await run(place, [...flags, "another"])).end.exit).toBe(0);
  });
});

/** The schema of the first version of koda, without the rows of the recording. */
function firstSchema(): string {
  const [schema = ""] = readFileSync("test/recordings/database-1.sql", "utf8").split("\nINSERT INTO");
  return schema;
}
