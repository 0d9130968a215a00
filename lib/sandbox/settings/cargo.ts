import { isRecord } from "../../config/json.ts";
import { harmlessValue, mayHoldSecrets, parsedBy, type Redact, words } from "./redacted.ts";

/** Keys of cargo's settings; `*` stands for a name, and a last `**` for everything below. */
const harmless = words(`
  paths build.** cache.** cargo-new.** doc.** future-incompat-report.** install.** net.** profile.**
  resolver.** target.*.linker target.*.rustflags target.*.rustdocflags term.** unstable.** include
  http.cainfo http.check-revoke http.debug http.low-speed-limit http.multiplexing http.proxy http.ssl-version
  http.ssl-version.* http.timeout
  registry.default registry.index registries.*.index registries.*.protocol
  source.*.registry source.*.replace-with source.*.directory source.*.local-registry source.*.git source.*.branch
  source.*.tag source.*.rev patch.**
`).map((pattern) => pattern.split("."));

/** `config.toml`. What is kept is written as one line a value; variables for programs (`env`) are left out. */
export const redactCargoConfig: Redact = (text) => {
  const table = parsedBy(Bun.TOML.parse, text);
  if (!isRecord(table)) return undefined;
  const found = leavesOf(table, []);
  const lines: string[] = [];
  let isWhole = !commentsIn(text).some(mayHoldSecrets);
  for (const { path, value } of found) {
    if (!harmless.some((pattern) => matches(pattern, path))) {
      isWhole = false;
      continue;
    }
    const shown = shownValue(value);
    if (shown === undefined) return undefined;
    isWhole &&= shown.isWhole;
    lines.push(`${path.map(quoted).join(".")} = ${shown.text}\n`);
  }
  return { text: lines.join(""), isWhole };
};

/** No setting of cargo's is below more tables. */
const deepest = 8;

type Leaf = { path: readonly string[]; value: unknown };

function leavesOf(table: object, above: readonly string[]): Leaf[] {
  return Object.entries(table).flatMap(([name, value]: [string, unknown]): Leaf[] => {
    const path = [...above, name];
    return isRecord(value) && path.length < deepest ? leavesOf(value, path) : [{ path, value }];
  });
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === "**";
  if (isOpen ? path.length < pattern.length : path.length !== pattern.length) return false;
  return pattern.every((name, index) => name === "*" || name === "**" || name === path[index]);
}

function shownValue(value: unknown): { text: string; isWhole: boolean } | undefined {
  switch (typeof value) {
    case "number":
    case "boolean":
      return { text: String(value), isWhole: true };
    case "string": {
      const shown = harmlessValue(value);
      return shown && { text: quoted(shown.value), isWhole: shown.isWhole };
    }
    default: {
      if (!Array.isArray(value)) return undefined;
      const items = value.map(shownValue);
      if (items.includes(undefined)) return undefined;
      return {
        text: `[${items.map((item) => item?.text).join(", ")}]`,
        isWhole: items.every((item) => item?.isWhole === true),
      };
    }
  }
}

/** A TOML string is JSON's, but that DEL has to be escaped too. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

/** All that follows a `#`, also one in a string: that takes too much for a comment, never too little. */
function commentsIn(text: string): string[] {
  return text.split("\n").flatMap((line) => (line.includes("#") ? [line.slice(line.indexOf("#"))] : []));
}
