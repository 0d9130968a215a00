/**
 * `bun test/support/record-database.ts`: makes a database of all that a session may have, with dist/koda and the scripted
 * model, and keeps it for the tests of later versions. To be run once for each schema that is released.
 */
import { Database as Sqlite } from "bun:sqlite";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { invoke, scriptFor } from "./agents.ts";
import { koda, using } from "./koda.ts";
import { call, say } from "./model-reply.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";
import type { Place } from "./place.ts";

const base = "/tmp/koda-recording";

const script = scriptFor({
  "Find the needle": [
    call("Bash", { command: "yes hay | head -c 100000; echo 'a needle in the haystack'; echo 数据库" }),
    call("Write", { path: "found.txt", content: "needle\n" }),
    say("The needle is in the haystack."),
  ],
  "Polish the needle": [say("It shines.")],
  "Sharpen the needle": [say("The needle is sharp.")],
  "Forget the needle": [say("Forgotten.")],
  "Copy the needle": [say("There are two.")],
  "Ask somebody": [invoke("explore", "Count the needles"), say("There is one.")],
  "Count the needles": [say("One.")],
  "Talk about needles": [say("They are thin.")],
});

async function play(place: Place, server: ModelServer): Promise<void> {
  const run = async (args: readonly string[], stdin?: string) => {
    const { exit, stderr } = await koda(place, args, stdin === undefined ? {} : { stdin });
    if (exit !== 0) throw new Error(`koda ${args.join(" ")} exited ${exit}: ${stderr}`);
  };
  const exec = async (...args: string[]) => await run(["exec", ...using(server), ...args]);
  await exec("--session", "needle", "Find the needle");
  await exec("--session", "needle", "Polish the needle");
  await exec("--session", "needle", "Forget the needle");
  await run(["session", "rollback", "needle", "1"]);
  await exec("--fork", "needle", "Copy the needle");
  await exec("--session", "asked", "Ask somebody");
  const submission = { op: "input", id: "s1", text: "Talk about needles" };
  await run(["chat", "--json", "--session", "talk", ...using(server)], `${JSON.stringify(submission)}\n`);
  await run(["session", "search", "needle"]);
  const list = place.write("tasks.jsonl", `${JSON.stringify({ key: "sharp", prompt: "Sharpen the needle" })}\n`);
  await run(["batch", "run", list, ...using(server)]);
  await run(["batch", "submit", list, ...using(server)]);
}

/** The database as one file, in the form in which a release left it. */
function packed(path: string): { schema: number; bytes: Uint8Array } {
  using db = new Sqlite(path);
  db.run("PRAGMA journal_mode = DELETE");
  db.run("VACUUM");
  const { user_version: schema } = db.query("PRAGMA user_version").get() as { user_version: number };
  return { schema, bytes: Bun.gzipSync(readFileSync(path)) };
}

/** A place whose name is the same each time, since it is in the database. */
function makeFixedPlace(): Place {
  rmSync(base, { recursive: true, force: true });
  const [home, project, temporary] = [join(base, "home"), join(base, "project"), join(base, "tmp")];
  for (const directory of [home, project, temporary]) mkdirSync(directory, { recursive: true });
  const write = (path: string, content: string | Uint8Array) => {
    writeFileSync(join(project, path), content);
    return join(project, path);
  };
  const env = { HOME: home, TMPDIR: temporary, PATH: process.env.PATH ?? "", LANG: "C.UTF-8" };
  return { home, project, env, write, [Symbol.asyncDispose]: async () => rmSync(base, { recursive: true }) };
}

await using place = makeFixedPlace();
await using server = await startModelServer(script, { port: 18_080 });
await play(place, server);
const { schema, bytes } = packed(join(place.home, ".local/share/koda/koda.db"));
writeFileSync(`test/recordings/database-${schema}.db.gz`, bytes);
