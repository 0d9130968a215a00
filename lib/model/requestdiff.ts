import { isRecord } from "../config/json.ts";

/** The project's directory in the recording and in this run. */
export type ProjectPaths = { recorded: string | undefined; sent: string };

type Difference = { path: string; recorded: string; sent: string };

/**
 * The first difference between two request bodies. Parts that differ between any two runs are ignored: dates and times,
 * temporary directories, the project's own path, the marks of commands, and ids as long as they are used consistently.
 */
export function firstDifference(recorded: unknown, sent: unknown, paths: ProjectPaths): Difference | undefined {
  return new Comparison(paths).compare(recorded, sent, "");
}

class Comparison {
  #paths: ProjectPaths;
  #sentIds = new Map<string, string>();
  #recordedIds = new Map<string, string>();

  constructor(paths: ProjectPaths) {
    this.#paths = paths;
  }

  compare(recorded: unknown, sent: unknown, path: string): Difference | undefined {
    if (recorded === sent) return undefined;
    if (Array.isArray(recorded) && Array.isArray(sent)) return this.#compareLists(recorded, sent, path);
    if (isRecord(recorded) && isRecord(sent)) {
      for (const key of new Set([...Object.keys(recorded), ...Object.keys(sent)])) {
        const inner = path === "" ? key : `${path}.${key}`;
        const found = this.#compareField(key, [recorded[key], sent[key]], inner);
        if (found !== undefined) return found;
      }
      return undefined;
    }
    if (typeof recorded === "string" && typeof sent === "string") return this.#compareTexts(recorded, sent, path);
    return { path, recorded: shown(recorded), sent: shown(sent) };
  }

  #compareLists(recorded: readonly unknown[], sent: readonly unknown[], path: string): Difference | undefined {
    for (let index = 0; index < Math.max(recorded.length, sent.length); index++) {
      const found = this.compare(recorded[index], sent[index], `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #compareField(key: string, [recorded, sent]: [unknown, unknown], path: string): Difference | undefined {
    const isId = idKeys.has(key) && typeof recorded === "string" && typeof sent === "string";
    return isId ? this.#compareIds(recorded, sent, path) : this.compare(recorded, sent, path);
  }

  /** An id may differ, but one recorded id must always correspond to the same id in this run. */
  #compareIds(recorded: string, sent: string, path: string): Difference | undefined {
    const expected = this.#sentIds.get(recorded) ?? sent;
    const known = this.#recordedIds.get(sent) ?? recorded;
    if (expected !== sent || known !== recorded) return { path, recorded: shown(recorded), sent: shown(sent) };
    this.#sentIds.set(recorded, sent);
    this.#recordedIds.set(sent, recorded);
    return undefined;
  }

  #compareTexts(recorded: string, sent: string, path: string): Difference | undefined {
    const [before, now] = [normalized(recorded, this.#paths.recorded), normalized(sent, this.#paths.sent)];
    if (before === now) return undefined;
    let start = 0;
    while (before[start] === now[start]) start++;
    return { path, recorded: excerpt(before, start), sent: excerpt(now, start) };
  }
}

const idKeys: ReadonlySet<string> = new Set([
  "id",
  "call_id",
  "tool_call_id",
  "tool_use_id",
  "item_id",
  "prompt_cache_key",
]);

const date = /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?Z| ?[+-]\d\d:?\d\d)?)?/g;
const clock = /\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b/g;
const uuid = /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi;
const callId = /\b(?:call|toolu|fc|chatcmpl-tool)[_-][A-Za-z0-9_-]{4,}/g;
/** The mark of a command (lib/shell/marks.ts), which `env` and `ulimit` show: a number from 2^62 to 2^63. */
const mark = /\b[4-9]\d{18}\b/g;
/** A directory directly below; the names of files in it are compared. */
const temporary = /(?:\/private)?\/(?:var\/folders\/[^/\s"']+\/[^/\s"']+\/T|var\/tmp|tmp)\/[^/\s"'`\\:;,)\]}<>]+/g;

/** Replaces the parts that differ between any two runs. */
function normalized(text: string, cwd: string | undefined): string {
  const relative = cwd === undefined || cwd === "/" ? text : text.replace(pathPattern(cwd), "{cwd}");
  return relative
    .replace(temporary, "{tmp}")
    .replace(date, "{date}")
    .replace(clock, "{time}")
    .replace(uuid, "{id}")
    .replace(callId, "{id}")
    .replace(mark, "{mark}");
}

/** The directory or a path in it, not another directory whose name begins the same. */
function pathPattern(cwd: string): RegExp {
  return new RegExp(`${cwd.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w.-]*[\\w-])`, "g");
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

function excerpt(text: string, start: number): string {
  const from = Math.max(0, start - 20);
  const to = start + 60;
  const [head, tail] = [from > 0 ? "…" : "", to < text.length ? "…" : ""];
  return `${head}${JSON.stringify(text.slice(from, to))}${tail}`;
}
