import { expect, test } from "bun:test";
import { Elicitor } from "../../lib/mcp/elicitor.ts";
import type { Elicit } from "../../lib/tools/elicitation.ts";

const params = { message: "Who?", requestedSchema: { type: "object" as const, properties: {} } };
const { signal } = new AbortController();
const accept: Elicit = () => Promise.resolve({ action: "accept" });

function make() {
  const warned: string[] = [];
  return { elicitor: new Elicitor({ server: "s", warn: (message) => void warned.push(message) }), warned };
}

test("a server may ask only while it works for the user alone: it does not say for whom it asks", async () => {
  const { elicitor } = make();
  const ask = () => elicitor.ask(params, signal);
  expect(await ask()).toEqual({ action: "decline" });
  const ofUser = { signal, elicit: accept };
  const answers = await elicitor.during(ofUser, 1_000, async () => [
    await ask(),
    await elicitor.during({ signal }, 1_000, ask),
    await elicitor.during(ofUser, 1_000, ask),
  ]);
  expect(answers.map(({ action }) => action)).toEqual(["accept", "decline", "accept"]);
  expect(await ask()).toEqual({ action: "decline" });
});

test("no request that is under way loses time while the user is asked", async () => {
  const { elicitor } = make();
  const answered = Promise.withResolvers<{ action: "accept" }>();
  const ofUser = { signal, elicit: () => answered.promise };
  const waiting = elicitor.during(ofUser, 20, async (stop) => {
    const asked = elicitor.ask(params, signal);
    const beside = elicitor.during(ofUser, 20, async (late) => [await asked, late.aborted]);
    setTimeout(() => answered.resolve({ action: "accept" }), 100);
    return [...(await beside), stop.aborted];
  });
  expect(await waiting).toEqual([{ action: "accept" }, false, false]);
  const late = elicitor.during(ofUser, 20, async (stop) => {
    await new Promise((resolve) => stop.addEventListener("abort", resolve));
    throw stop.reason;
  });
  await expect(late).rejects.toThrow("timed out after 20ms (call_timeout)");
});

test("a question that is too long to be shown is declined, and the user is told", async () => {
  const { elicitor, warned } = make();
  const long = { ...params, message: "x".repeat(70_000) };
  const asked = elicitor.during({ signal, elicit: accept }, 1_000, async () => elicitor.ask(long, signal));
  expect(await asked).toEqual({ action: "decline" });
  expect(warned).toEqual([expect.stringContaining("longer than")]);
});
