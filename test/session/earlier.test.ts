import { Database as Sqlite } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { version } from "../../package.json";
import { openStore } from "../../lib/session/store.ts";
import { koda, using } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

/** The schema of each released version, and of the one to come. Databases of all of them are in test/recordings. */
const schemaOf: Readonly<Record<string, number>> = { "0.1.0": 14 };

const recorded = (schema: number) => `test/recordings/database-${schema}.db.gz`;

/** The database of a place, as that version left it. */
function stored(place: Place, schema: number): string {
  const path = join(place.home, ".local/share/koda/koda.db");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Bun.gunzipSync(readFileSync(recorded(schema))));
  return path;
}

/** All that a database says of its form. */
function formOf(path: string): unknown {
  using db = new Sqlite(path);
  const { user_version: schema } = db.query("PRAGMA user_version").get() as { user_version: number };
  const made = db.query("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all() as {
    sql: string | null;
  }[];
  return { schema, made: made.map((entry) => ({ ...entry, sql: entry.sql?.replace(/\s+/g, " ") })) };
}

function faultsOf(path: string): unknown[] {
  using db = new Sqlite(path);
  return [...db.query("PRAGMA integrity_check").all(), ...db.query("PRAGMA foreign_key_check").all()];
}

function freshForm(place: Place): unknown {
  const path = join(place.home, "fresh.db");
  openStore(path).close();
  return formOf(path);
}

test("a database of the first schema keeps its sessions, and all of it is found", async () => {
  await using place = makePlace();
  const path = join(place.home, "data/koda.db");
  mkdirSync(dirname(path));
  {
    using db = new Sqlite(path, { create: true });
    db.run(readFileSync("test/recordings/database-1.sql", "utf8"));
  }
  {
    await using store = openStore(path);
    const [info] = store.list();
    expect(info).toMatchObject({ id: "old", title: "Find the needle", turns: 1, costUsd: null, ended: "limit" });
    expect(info && store.outcome(info)).toBe("limit");
    const found = async (query: string) => store.search(query, 10).matches.map(({ seq, kind }) => `${seq} ${kind}`);
    expect((await found("needle")).sort()).toEqual(["2 user", "3 output"]);
    expect(await found("settings")).toEqual(["2 user"]);
    expect(await found("据库")).toEqual(["3 assistant"]);
    expect(store.items("old").map(({ kind }) => kind)).toEqual(["turn_start", "user", "assistant", "turn_end"]);
  }
  expect(formOf(path)).toEqual(freshForm(place));
});

test("a database of this version's schema is recorded: bun test/support/record-database.ts does that", async () => {
  await using place = makePlace();
  const { schema } = freshForm(place) as { schema: number };
  expect(schemaOf[version], "the schema of this version, in the table above").toBe(schema);
  for (const each of Object.values(schemaOf)) expect(existsSync(recorded(each)), recorded(each)).toBe(true);
});

for (const [release, schema] of Object.entries(schemaOf))
  describe(`a database of koda ${release}`, () => {
    test("becomes one of this version, without a fault", async () => {
      await using place = makePlace();
      const path = stored(place, schema);
      openStore(path).close();
      expect(formOf(path)).toEqual(freshForm(place));
      expect(faultsOf(path)).toEqual([{ integrity_check: "ok" }]);
    });

    test("keeps its sessions, forks, agents and outputs, and all of it is found", async () => {
      await using place = makePlace();
      stored(place, schema);
      const listed = JSON.parse((await koda(place, ["session", "list", "--children", "--json"])).stdout) as {
        id: string;
        parent?: string;
        title: string;
        turns: number;
      }[];
      const summary = listed.map(({ parent, title, turns }) => `${parent ?? "-"}: ${title} (${turns})`);
      expect(summary.toSorted()).toEqual([
        "-: Ask somebody (1)",
        "-: Find the needle (2)",
        "-: Sharpen the needle (1)",
        "-: Talk about needles (1)",
        "asked: Count the needles (1)",
        "needle: Find the needle (3)",
      ]);
      const found = await koda(place, ["session", "search", "haystack", "--json"]);
      const kinds = (JSON.parse(found.stdout) as { kind: string }[]).map(({ kind }) => kind);
      expect(new Set(kinds)).toEqual(new Set(["assistant", "result", "output"]));
      for (const { id } of listed) {
        const { stdout, exit } = await koda(place, ["session", "export", id]);
        expect(exit).toBe(0);
        expect(stdout).toContain("eedle");
      }
    });

    test("keeps its batches, with what their tasks have come to", async () => {
      await using place = makePlace();
      stored(place, schema);
      const read = async (...args: string[]) => (await koda(place, ["batch", ...args])).stdout;
      const [open, over] = JSON.parse(await read("status", "--json")) as { id: string; state: string }[];
      expect([open?.state, over?.state]).toEqual(["open", "over"]);
      expect(await read("results", over?.id ?? "")).toContain("The needle is sharp.");
    });

    test("is continued where it was: without the turn that was taken back", async () => {
      await using place = makePlace();
      stored(place, schema);
      await using server = await startModelServer([say("Here.")]);
      const args = ["exec", "--resume", "needle", "-C", place.project, ...using(server), "Where is the needle?"];
      const { stdout, stderr, exit } = await koda(place, args);
      expect([exit, stdout], stderr).toEqual([0, "Here.\n"]);
      const said = server.requests[0]?.lines.map(({ text = "" }) => text).join("\n") ?? "";
      for (const text of ["Find the needle", "in the haystack", "It shines."]) expect(said).toContain(text);
      expect(said).not.toContain("Forgotten.");
      expect(server.problems).toEqual([]);
    });

    test("answers a submission once, also in this version", async () => {
      await using place = makePlace();
      stored(place, schema);
      await using server = await startModelServer([]);
      const again = { op: "input", id: "s1", text: "Talk about needles" };
      const args = ["chat", "--json", "--resume", "talk", ...using(server)];
      const { stdout, exit } = await koda(place, args, { stdin: `${JSON.stringify(again)}\n` });
      expect(exit).toBe(0);
      const replies = stdout.split("\n").filter((line) => line.includes('"type":"reply"'));
      expect(replies).toHaveLength(1);
      expect(replies[0]).toContain("They are thin.");
      expect(server.requests).toEqual([]);
    });
  });
