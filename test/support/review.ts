import type { Finding } from "../../lib/review/findings.ts";
import { checkLines, koda, type RanExec, using } from "./koda.ts";
import { type Entry, say } from "./model-reply.ts";
import type { ModelRequestSeen, ModelServer } from "./model-server.ts";
import { makePlace, type Place } from "./place.ts";
import { runGit } from "./worktree.ts";

export type GitPlace = Place & { git(...args: readonly string[]): string };

/** A project with one commit of these files. */
export function makeRepository(
  files: Record<string, string | Uint8Array> = { "a.txt": "one\ntwo\nthree\n" },
): GitPlace {
  const place = makePlace(files);
  const git = (...args: readonly string[]) => runGit(place.project, place.env, args);
  git("init", "-q");
  git("add", "-A");
  git("commit", "-q", "--allow-empty", "-m", "first");
  return { ...place, git };
}

/** A finding, as far as a test cares. */
export function finding(path: string, more: Partial<Finding> = {}): Finding {
  const line = { start_line: 1, end_line: 1 };
  return { path, ...line, severity: "medium", title: "A title", body: "A body.", ...more };
}

/** A reviewer's answer. */
export function found(...findings: readonly Finding[]): Entry {
  return say(JSON.stringify({ findings, summary: "A summary." }));
}

/** `koda review` with its events; all promises about them are checked. */
export async function review(place: Place, server: ModelServer, args: readonly string[] = []): Promise<RanExec> {
  const ran = await koda(place, ["review", "--output", "jsonl", ...using(server), ...args]);
  return { ...ran, ...checkLines(ran) };
}

/** `koda review` as people run it. */
export async function reviewText(place: Place, server: ModelServer, args: readonly string[] = []) {
  return await koda(place, ["review", ...using(server), ...args]);
}

/** The request to a reviewer: the words that name the task, and the diff. */
export function askedOf(request: ModelRequestSeen | undefined): string {
  const prompts = request?.lines.filter(({ role }) => role === "user").map(({ text = "" }) => text) ?? [];
  return prompts.find((text) => text.startsWith("Review ")) ?? "";
}

/** The lines of a run's notices. */
export function noticesOf({ events }: RanExec): string[] {
  return events.flatMap((event) => (event.type === "notice" ? [event.message] : []));
}

/** A reviewer that finds each added line with the word BUG in the diff that it is shown, and no other. */
export function findBugs(request: ModelRequestSeen): Entry {
  const findings: Finding[] = [];
  let path = "";
  let line = 0;
  for (const text of askedOf(request).split("\n")) {
    const [, start] = /^@@ -\d+(?:,\d+)? \+(\d+)/.exec(text) ?? [];
    if (text.startsWith("+++ b/")) path = text.slice("+++ b/".length);
    else if (start !== undefined) line = Number(start) - 1;
    else if (/^[ +]/.test(text)) line++;
    const [bug] = /^\+.*BUG \d+/.exec(text) ?? [];
    if (bug !== undefined) findings.push(finding(path, { start_line: line, end_line: line, title: bug.slice(1) }));
  }
  return found(...findings);
}
