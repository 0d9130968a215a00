import { expect, test } from "bun:test";
import { checkLines, exec, koda, type RanExec, using } from "../support/koda.ts";
import { call, type Entry, problem, say, status } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const unsupported = (parameter: string, message = `Unsupported parameter: '${parameter}' is not supported.`) =>
  problem(400, message, {}, { type: "invalid_request_error", param: parameter, code: "unsupported_parameter" });
const extraField = (...path: readonly string[]) =>
  status(422, {
    object: "error",
    message: {
      detail: [{ type: "extra_forbidden", loc: ["body", ...path], msg: "Extra inputs are not permitted" }],
    },
    type: "invalid_request_error",
  });

const notices = ({ events }: RanExec) =>
  events.flatMap((event) => (event.type === "notice" && event.code === "model_settings" ? [event.message] : []));

/** Runs three requests, the first of which is refused, and returns the bodies that the server saw. */
async function refusing(refusals: readonly Entry[], flags: readonly string[]) {
  await using place = makePlace();
  await using server = await startModelServer([...refusals, call("Bash", { command: "true" }), say("Done.")]);
  const ran = await exec(place, server, ["--no-sandbox", ...flags, "Go"]);
  return { ...ran, bodies: server.requests.map(({ body }) => body) };
}

test.each<[string, Entry, flags: readonly string[], has: object, hasNot: string, says: string]>([
  ["temperature", unsupported("temperature"), ["--temperature", "0.2"], { temperature: 0.2 }, "temperature", "--temp"],
  [
    "reasoning_effort",
    problem(400, "Model x does not support parameter reasoningEffort."),
    ["--reasoning-effort", "high"],
    { reasoning_effort: "high" },
    "reasoning_effort",
    "the model's usual effort",
  ],
  [
    "stream_options",
    extraField("stream_options", "include_usage"),
    [],
    { stream_options: { include_usage: true } },
    "stream_options",
    "may not know how many tokens",
  ],
  [
    "max_tokens",
    unsupported("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
    ["--max-output-tokens", "500"],
    { max_tokens: 500 },
    "max_tokens",
    "max_completion_tokens",
  ],
  [
    "temperature over Messages",
    problem(400, "`temperature` is deprecated for this model.", {}, { type: "invalid_request_error" }),
    ["--wire", "messages", "--temperature", "0.2"],
    { temperature: 0.2 },
    "temperature",
    "--temp",
  ],
  [
    "include",
    unsupported("include", "Encrypted content is not supported with this model."),
    ["--wire", "responses"],
    { include: ["reasoning.encrypted_content"] },
    "include",
    "earlier thoughts",
  ],
  [
    "temperature of Messages",
    status(400, { type: "error", error: { type: "invalid_request_error", message: "`temperature` is deprecated." } }),
    ["--wire", "messages", "--temperature", "0.2"],
    { temperature: 0.2 },
    "temperature",
    "--temperature",
  ],
  [
    "reasoning.effort",
    unsupported("reasoning.effort"),
    ["--wire", "responses", "--reasoning-effort", "low"],
    { reasoning: { effort: "low" } },
    "reasoning",
    "--reasoning-effort",
  ],
])("%s is left out when the provider refuses it, for the whole run", async (_name, refusal, flags, has, no, says) => {
  const { bodies, end, ...ran } = await refusing([refusal], flags);
  expect(end).toMatchObject({ exit: 0, text: "Done." });
  expect(bodies).toHaveLength(3);
  expect(bodies[0]).toMatchObject(has);
  for (const body of bodies.slice(1)) expect(body).not.toHaveProperty(no);
  expect(notices({ ...ran, end })).toEqual([expect.stringContaining(says)]);
  expect(ran.events.filter(({ type }) => type === "retry")).toEqual([]);
});

test("a temperature that thinking leaves no room for goes, and the thinking stays", async () => {
  // The scripted server refuses both together, as the API does.
  const flags = ["--wire", "messages", "--temperature", "0.2", "--reasoning-effort", "high"];
  const { bodies, end } = await refusing([], flags);
  expect(end).toMatchObject({ exit: 0, text: "Done." });
  expect(bodies.map((body) => ["temperature", "thinking"].filter((name) => name in body))).toEqual([
    ["temperature", "thinking"],
    ["thinking"],
    ["thinking"],
  ]);
});

test("the limit of a reply goes on under its other name", async () => {
  const { bodies } = await refusing([unsupported("max_tokens")], ["--max-output-tokens", "500"]);
  expect(bodies.map((body) => body.max_completion_tokens)).toEqual([undefined, 500, 500]);
});

test("so does a limit that the cost sets", async () => {
  const price = { input: 1, output: 10 };
  const model = `providers.custom.models.scripted=${JSON.stringify({ context_window: 128_000, max_output: 4000, price })}`;
  const { bodies, end } = await refusing([unsupported("max_tokens")], ["--max-cost", "0.02", "--config", model]);
  expect(end).toMatchObject({ exit: 0 });
  expect(bodies.map((body) => "max_tokens" in body)).toEqual([true, false, false]);
  expect(bodies[1]?.max_completion_tokens).toBeGreaterThan(0);
});

test.each(["chat", "responses"])("a key for the cache that a gateway refuses is left out, over %s", async (wire) => {
  await using place = makePlace();
  await using server = await startModelServer([
    problem(400, "litellm.UnsupportedParamsError: bedrock does not support parameters: ['prompt_cache_key']"),
    say("Done."),
  ]);
  const flags = ["--json", "--no-sandbox", "--wire", wire, ...using(server, "openai/gpt-4.1")];
  const { events, end } = checkLines(await koda(place, ["exec", ...flags, "Go"]));
  expect(end).toMatchObject({ exit: 0, text: "Done." });
  expect(server.requests.map(({ body }) => "prompt_cache_key" in body)).toEqual([true, false]);
  expect(events.find(({ type }) => type === "notice")).toMatchObject({
    message: expect.stringContaining("may cache less"),
  });
});

test("one parameter after the other may be refused", async () => {
  const refusals = [unsupported("temperature"), extraField("stream_options")];
  const { bodies, end, ...ran } = await refusing(refusals, ["--temperature", "0.2"]);
  expect(end).toMatchObject({ exit: 0, text: "Done." });
  expect(bodies).toHaveLength(4);
  expect(bodies.map((body) => ["temperature", "stream_options"].filter((name) => name in body))).toEqual([
    ["temperature", "stream_options"],
    ["stream_options"],
    [],
    [],
  ]);
  expect(notices({ ...ran, end })).toHaveLength(2);
});

test("what was refused before another parameter stays out", async () => {
  await using place = makePlace({ "a.png": png });
  await using server = await startModelServer([
    call("Read", { path: "a.png" }),
    problem(400, "this is not a multimodal model"),
    unsupported("temperature"),
    say("Done."),
  ]);
  const { events, end } = await exec(place, server, ["--temperature", "0.2", "Look at a.png"]);
  expect(end).toMatchObject({ exit: 0, text: "Done." });
  expect(server.requests.map(({ raw }) => raw.includes("image_url"))).toEqual([false, true, false, false]);
  expect(events.flatMap((event) => (event.type === "notice" ? [event.code] : []))).toEqual([
    "images",
    "model_settings",
  ]);
});

test.each<[string, readonly string[], requests: number, says: string]>([
  ["was not sent", [], 1, "does not accept the parameter temperature"],
  ["is refused again", ["--temperature", "0.2"], 2, "Leave out --temperature"],
])("a refused parameter that %s ends the run", async (_name, flags, requests, says) => {
  await using place = makePlace();
  await using server = await startModelServer(() => unsupported("temperature"));
  const { end } = await exec(place, server, ["--no-sandbox", ...flags, "Go"]);
  expect(end).toMatchObject({ exit: 1, error: { code: "unsupported_parameter", http_status: 400 } });
  expect(end.error?.message).toContain(says);
  expect(server.requests).toHaveLength(requests);
});

test("a value that is too large is told with its flag", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    problem(400, "max_tokens is too large: 500000. This model supports at most 128000 completion tokens"),
  ]);
  const { end } = await exec(place, server, ["--no-sandbox", "--max-output-tokens", "500000", "Go"]);
  expect(end).toMatchObject({ exit: 1, error: { code: "request" } });
  expect(end.error?.message).toContain("Pass a smaller --max-output-tokens");
});

test("a replay meets the refusal as the run did", async () => {
  await using place = makePlace();
  await using server = await startModelServer([unsupported("temperature"), say("Done.")]);
  const flags = ["--no-sandbox", "--temperature", "0.2"];
  const recorded = await exec(place, server, [...flags, "--record", "../tape", "Go"]);
  expect(recorded.end).toMatchObject({ exit: 0, text: "Done." });
  const replayed = await koda(place, ["exec", ...flags, "--replay", "../tape", "Go"]);
  expect(replayed).toMatchObject({ exit: 0, stdout: "Done.\n" });
});
