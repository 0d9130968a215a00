/** `bun test/support/record-demo.ts > lib/model/demo.jsonl`: the cassette behind `-m demo`, written as a script. */
import type { Exchange, Header } from "../../lib/model/cassette.ts";
import { call, say } from "./model-reply.ts";
import type { Part } from "./model-frame.ts";
import { framesOf } from "./model-wire.ts";

const greeter = `#!/bin/sh
# Greets the given name, or the world.
name=$1
echo "Hello, $name!"
`;

const tests = `#!/bin/sh
# Runs greet.sh and checks its output.
cd "$(dirname "$0")" || exit 1
failed=0

expect() {
  wanted=$1
  shift
  said=$(sh greet.sh "$@")
  if [ "$said" = "$wanted" ]; then
    echo "ok: greet.sh $* says \\"$said\\""
  else
    echo "FAIL: greet.sh $* says \\"$said\\", expected \\"$wanted\\"" >&2
    failed=1
  fi
}

expect "Hello, koda!" koda
expect "Hello, world!"
exit $failed
`;

const dir = "koda-demo";

export const demoReplies: readonly (readonly Part[])[] = [
  [
    say("This is a scripted demo: no model is asked. The replies were written beforehand; the tools are real. "),
    say(`First, a tiny project with a bug, in ${dir}/.`),
    call("Write", { path: `${dir}/greet.sh`, content: greeter }),
    call("Write", { path: `${dir}/test.sh`, content: tests }),
  ],
  [say("Now its test, which should fail."), call("Bash", { command: `sh ${dir}/test.sh` })],
  [
    say("Without a name it should greet the world. The bug must be in greet.sh."),
    call("Read", { path: `${dir}/greet.sh` }),
  ],
  [
    say("Without an argument, $1 is empty. It needs a default."),
    call("Edit", { path: `${dir}/greet.sh`, edits: [{ old: "name=$1", new: "name=${1:-world}" }] }),
  ],
  [say("Run the test again."), call("Bash", { command: `sh ${dir}/test.sh` })],
  [
    say(
      `Scripted demo: ${dir}/greet.sh now has a default name, and its test passes. This text was written before the run, but the tools did what you see above. `,
    ),
    say("To use a real model, set a key such as OPENAI_API_KEY, or start ollama, and run koda exec without -m demo."),
  ],
];

export function demoCassette(): string {
  const header: Header = { koda_cassette: 1, version: "0.1.0", recorded_at: "2026-11-18T00:00:00.000Z" };
  const exchanges = demoReplies.map((parts, index): Exchange => {
    const asked = { wire: "chat", index, model: "scripted", wantsUsage: false } as const;
    const frames = framesOf(parts.map(inOnePiece), { usage: null }, asked).filter((frame) => typeof frame === "string");
    return {
      request: { wire: "chat", path: "/v1/chat/completions", body: {} },
      response: { status: 200, headers: { "content-type": "text/event-stream" }, frames },
    };
  });
  return [header, ...exchanges].map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** A cassette is played without waiting, so a delta for every word would only be bulk. */
function inOnePiece(part: Part): Part {
  if (part.type === "text") return { ...part, deltas: [part.deltas.join("")] };
  return part.type === "call" ? { ...part, pieces: [part.pieces.join("")] } : part;
}

if (import.meta.main) process.stdout.write(demoCassette());
