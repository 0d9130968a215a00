import type { CommandSpec } from "../commands.ts";
import { grouped, helpFlag, json } from "../flags.ts";
import * as value from "../values.ts";

const optionalId = {
  id: { value: value.sessionId, about: "A session id, or a unique prefix of it", optional: true },
} as const;
const last = grouped("Session", { last: { about: "This directory's latest session" } });
const limit = (usual: string) =>
  grouped("Output", { limit: { short: "n", value: value.count, about: "Show at most N", default: usual } });
const id = { id: { value: value.sessionId, about: "A session id, or a unique prefix of it" } } as const;

export const sessionCommands = {
  "session list": {
    about: "List sessions, newest first",
    positionals: {},
    flags: {
      here: { group: "Session", about: "Only this directory's sessions" },
      children: { group: "Session", about: "The sessions of agents too" },
      ...limit("30, or all with --json"),
      ...json,
      ...helpFlag,
    },
    examples: [
      { line: "koda session list --here -n 5", about: "The five latest sessions of this directory" },
      { line: "koda session list --json | jq -r '.[0].id'", about: "The id of the latest session" },
    ],
  },
  "session show": {
    about: "Show the messages and calls of a session",
    positionals: optionalId,
    flags: { ...last, ...json, ...helpFlag },
    exclusive: [["id", "last"]],
    atLeastOne: [["id", "last"]],
    examples: [{ line: "koda session show 019a9c3e", about: "A unique prefix of the id is enough" }],
  },
  "session export": {
    about: "Write a session to stdout as a document",
    positionals: optionalId,
    flags: {
      ...last,
      format: {
        value: value.oneOf("markdown", "html", "jsonl", "atif"),
        group: "Output",
        about: "The document's format",
        default: "markdown",
      },
      json: { means: { flag: "format", value: "jsonl" }, group: "Output", about: "Short for --format jsonl" },
      ...helpFlag,
    },
    exclusive: [["id", "last"]],
    atLeastOne: [["id", "last"]],
    examples: [{ line: "koda session export 019a9c3e --format html > session.html", about: "One self-contained page" }],
  },
  "session search": {
    about: "Search the messages and calls of all sessions",
    positionals: { query: { value: value.sentence("QUERY"), about: "Words to look for" } },
    flags: { ...limit("20"), ...json, ...helpFlag },
    examples: [{ line: 'koda session search "race condition"', about: "Items with both words, else with one of them" }],
  },
  "session rollback": {
    about: "Take back the last turns of a session, and the files that they changed",
    details:
      "Drops the last N turns: the model no longer sees them. With --files the files that they changed become what " +
      "they were before, whoever changed them in the turn: a tool or a command. A file that you have changed since is " +
      "named and kept. Ignored files and everything in .git stay as they are.",
    positionals: { ...id, turns: { value: value.turns, about: "How many turns; all when there are fewer" } },
    flags: {
      files: { group: "General", about: "Restore the files as well" },
      "dry-run": { group: "General", about: "Only name what would change" },
      force: {
        group: "General",
        about: "Restore files that you have changed since, and leave out what cannot be restored",
      },
      ...json,
      ...helpFlag,
    },
    needs: [{ flag: "force", other: "files" }],
    examples: [
      { line: "koda session rollback 019a9c3e 1 --files --dry-run", about: "See what undoing the last turn changes" },
      { line: "koda session rollback 019a9c3e 1 --files", about: "Undo it" },
    ],
  },
  "session fork": {
    about: "Copy a session, to go on in two directions",
    positionals: id,
    flags: { ...json, ...helpFlag },
    examples: [{ line: "koda session fork 019a9c3e", about: "Prints the id of the new session" }],
  },
  "session rm": {
    about: "Delete a session, its agents and their outputs",
    positionals: id,
    flags: { ...json, ...helpFlag },
    examples: [{ line: "koda session rm 019a9c3e", about: "This cannot be undone" }],
  },
  "session prune": {
    about: "Delete sessions not used recently",
    positionals: {},
    flags: {
      "older-than": { value: value.age, required: true, group: "General", about: "Sessions not used for this long" },
      "dry-run": { group: "General", about: "Only list the sessions that would be deleted" },
      ...json,
      ...helpFlag,
    },
    examples: [{ line: "koda session prune --older-than 30d", about: "Keep the sessions of the last month" }],
  },
} as const satisfies Readonly<Record<string, CommandSpec>>;
