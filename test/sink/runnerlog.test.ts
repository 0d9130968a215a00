import { expect, test } from "bun:test";
import { withoutCommands } from "../../lib/sink/runnerlog.ts";
import { binary } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";

/** What GitHub's runner takes for a command in a line. */
const isCommand = (line: string) => /^\s*::\w/.test(line) || /##\[\w/.test(line);

function written(...pieces: readonly string[]): string {
  let text = "";
  const output = withoutCommands({
    write: async (piece) => void (text += piece),
    flush: async () => undefined,
    isIdle: true,
  });
  for (const piece of pieces) void output.write(piece);
  return text;
}

test.each([
  [["::add-mask::a\n"]],
  [["text\n \t ::add-mask::a\n"]],
  [["text\n", ":", ":add-mask::a\n"]],
  [["  ", "::add-mask::a\n"]],
  [["\n\n::add-mask::a\n"]],
  [["a ##[add-mask]b\n"]],
  [["a ##", "[add-mask]b\n"]],
  [["a #", "#[add-mask]b\n"]],
])("%j has no command to a runner", (pieces) => {
  const lines = written(...pieces).split("\n");
  expect(lines.filter(isCommand)).toEqual([]);
  expect(lines.join("\n").replaceAll("\u200b", "")).toBe(pieces.join(""));
});

test("other text stays as it is", () => {
  const text = "use std::env::var;\n  a: b ::c\n# [x] ## y\n";
  expect(written(text)).toBe(text);
});

test("stderr of a run in GitHub Actions has none, and elsewhere it is as it was", async () => {
  for (const [variables, isSafe] of [
    [{ GITHUB_ACTIONS: "true" }, true],
    [{}, false],
  ] as const) {
    await using place = makePlace();
    await using server = await startModelServer([call("Bash", { command: "echo ::add-mask::a" }), say("done")]);
    const argv = [binary, "exec", "-m", "scripted", "--base-url", server.url, "go"];
    const { stderr } = await runIn(place, argv, { env: variables });
    expect(stderr).toContain(":add-mask::a");
    expect(stderr.split("\n").some(isCommand)).toBe(!isSafe);
  }
});
