import { expect, test } from "bun:test";
import { closeSync, writeSync } from "node:fs";
import { openPipe } from "../../lib/system/pipe.ts";
import { follow, type Line, start, using } from "../support/koda.ts";
import { call, say, wait } from "../support/model-reply.ts";
import { type ModelServer, type Script, startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

/** koda with a pipe on stdin that only this process, its parent, holds. */
async function harness(script: Script, ...args: string[]) {
  const place = makePlace();
  const server = await startModelServer(script);
  const pipe = openPipe();
  if (pipe === undefined) throw new Error("there are no pipes here");
  const child = start(place, ["exec", "--json", ...using(server), ...args, "do it"], { stdin: pipe.read });
  closeSync(pipe.read);
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(pipe.write);
    isOpen = false;
  };
  return {
    server,
    run: follow(child),
    write: (text: string | Uint8Array) => void writeSync(pipe.write, Buffer.from(text)),
    close,
    async [Symbol.asyncDispose]() {
      close();
      child.kill();
      await child.exited;
      await server.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

const is = (type: Line["type"]) => (line: Line) => line.type === type;
const block = (text: string) => `<stdin>\n${text}\n</stdin>`;
/** The texts of the user's messages of the last request, without the environment. */
const asked = ({ requests }: ModelServer) =>
  (requests.at(-1)?.lines ?? [])
    .filter(({ role }) => role === "user")
    .map(({ text }) => text)
    .slice(1);

test("a pipe that its parent left open does not hold up a run, which ends without it 3 s after its start", async () => {
  await using koda = await harness(() => say("ok"));
  await koda.run.until(is("text.done"));
  const { end, stderr } = await koda.run.finished();
  expect(end).toMatchObject({ status: "done", text: "ok" });
  expect(end.duration_ms).toBeGreaterThan(2_500);
  expect(end.duration_ms).toBeLessThan(10_000);
  expect(stderr).toContain(`(process ${process.pid}) holds it open`);
  expect(asked(koda.server)).toEqual(["do it"]);
});

test("an end of the pipe without input ends the run at once", async () => {
  await using koda = await harness(() => say("ok"));
  await koda.run.until(is("text.done"));
  koda.close();
  expect((await koda.run.finished()).end.duration_ms).toBeLessThan(2_900);
});

test("what comes during the answer is added, and the answer is not final", async () => {
  const { promise: written, resolve: go } = Promise.withResolvers<void>();
  const answers = [[say("Early."), wait(written)], say("With your input.")];
  await using koda = await harness(answers, "--session", "mine");
  await koda.run.until(is("text.delta"));
  koda.write("late words\n");
  koda.close();
  go();
  const { end, events } = await koda.run.finished();
  expect(end).toMatchObject({ status: "done", text: "With your input.", session: "mine" });
  expect(asked(koda.server)).toEqual(["do it", block("late words")]);
  expect(koda.server.requests[1]?.lines.at(-2)).toMatchObject({ role: "assistant", text: "Early." });
  expect(events.filter(is("turn.end"))).toHaveLength(1);
});

test("a part is passed on while the pipe stays open, and what follows is another", async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const answers = [[say("One."), wait(first.promise)], [say("Two."), wait(second.promise)], say("Three.")];
  await using koda = await harness(answers);
  const umlaut = Buffer.from("ü");
  await koda.run.until(is("text.delta"));
  koda.write(Buffer.concat([Buffer.from("cut in two: "), umlaut.subarray(0, 1)]));
  first.resolve();
  await koda.run.until(is("notice"));
  koda.write(umlaut.subarray(1));
  koda.close();
  second.resolve();
  const { end } = await koda.run.finished();
  expect(end.text).toBe("Three.");
  expect(asked(koda.server)).toEqual(["do it", block("cut in two: "), block("ü")]);
});

test("what comes between calls goes with the next request, after their results", async () => {
  let isWritten = false;
  const script: Script = ({ lines }, index) => {
    if (lines.some(({ text }) => text.includes("<stdin>"))) return say("Done.");
    if (index === 1) {
      koda.write("late words\n");
      koda.close();
      isWritten = true;
    }
    return call("Glob", { pattern: `*.${index}` });
  };
  await using koda = await harness(script);
  const { end } = await koda.run.finished();
  expect([isWritten, end.status, end.text]).toEqual([true, "done", "Done."]);
  const roles = koda.server.requests.at(-1)?.lines.map(({ role }) => role) ?? [];
  expect(roles.slice(-3)).toEqual(["assistant", "tool", "user"]);
  expect(koda.server.problems).toEqual([]);
});

test("what is no text fails the run, and a run that is stopped does not wait", async () => {
  const { promise: written, resolve: go } = Promise.withResolvers<void>();
  await using broken = await harness([[say("ok"), wait(written)]]);
  await broken.run.until(is("text.delta"));
  broken.write(new Uint8Array([0x66, 0xfc, 0x72]));
  broken.close();
  go();
  const { end } = await broken.run.finished();
  expect(end).toMatchObject({ exit: 2, error: { code: "usage", message: expect.stringContaining("not UTF-8 text") } });

  const { promise: never } = Promise.withResolvers<void>();
  await using limited = await harness([[say("…"), wait(never)]], "--timeout", "500ms");
  expect((await limited.run.finished()).end).toMatchObject({ exit: 124 });
});

test("--stdin ignore says and reads nothing", async () => {
  await using koda = await harness(() => say("ok"), "--stdin", "ignore");
  koda.write("words\n");
  const { end, stderr } = await koda.run.finished();
  expect([end.status, stderr.includes("without stdin"), asked(koda.server)]).toEqual(["done", false, ["do it"]]);
});
