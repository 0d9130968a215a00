import { expect, test } from "bun:test";
import { exec, koda } from "../support/koda.ts";
import { call, problem, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const key = "providers.custom.models.scripted.images";
const word = "[image: this model accepts no images]";

/** Nothing is kept of a command line that was refused. */
async function sessionsOf(place: Place): Promise<unknown> {
  return JSON.parse((await koda(place, ["session", "list", "--json"])).stdout);
}

for (const config of [[], ["--config", `${key}=true`]])
  test(`-i is sent to a model of one's own server ${config.join(" ")}`, async () => {
    await using place = makePlace({ "a.png": png });
    await using server = await startModelServer([say("A dot.")]);
    const { end } = await exec(place, server, [...config, "-i", "a.png", "What is it?"]);
    expect(end.exit).toBe(0);
    expect(server.requests[0]?.lines.at(-1)).toMatchObject({ text: "What is it?", images: 1 });
  });

const refusing: readonly [model: string, flags: string[], fix: string][] = [
  ["scripted", ["--config", `${key}=false`], `--config '${key}=true'`],
  ["groq/llama-3.3-70b-versatile", [], `--config 'providers.groq.models."llama-3.3-70b-versatile".images=true'`],
];
for (const [model, flags, fix] of refusing)
  test(`-i is a usage error where ${model} is known to take no images`, async () => {
    await using place = makePlace({ "a.png": png });
    await using server = await startModelServer([say("A dot."), say("A dot.")]);
    const run = (...more: string[]) =>
      koda(place, ["exec", "-m", model, "--base-url", server.url, "-i", "a.png", "What is it?", ...more]);
    const refused = await run(...flags);
    expect([refused.exit, server.requests.length]).toEqual([2, 0]);
    expect(refused.stderr).toContain("does not accept images (-i)");
    expect(refused.stderr).toContain(fix);
    expect(await sessionsOf(place)).toEqual([]);

    const set = fix.replace("--config ", "").slice(1, -1);
    expect((await run("--config", set)).exit).toBe(0);
    expect(server.requests[0]?.lines.at(-1)).toMatchObject({ images: 1 });
  });

test("an image that Read shows is sent, or told of in words where the model is known to take none", async () => {
  for (const images of [true, false]) {
    await using place = makePlace({ "a.png": png });
    await using server = await startModelServer([call("Read", { path: "a.png" }), say("A dot.")]);
    const flags = images ? [] : ["--config", `${key}=false`];
    const { end } = await exec(place, server, [...flags, "What is in a.png?"]);
    expect(end.exit).toBe(0);
    const { lines = [], raw } = server.requests[1] ?? {};
    expect(lines.at(-1)?.images).toBe(images ? 1 : 0);
    expect(raw?.includes(word)).toBe(!images);
  }
});

const refusals: readonly [status: number, message: string][] = [
  [500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"],
  [400, "Failed to deserialize the JSON body: messages[2]: unknown variant `image_url`, expected `text`"],
  [400, "/models/llama is not a multimodal model"],
  [404, "No endpoints found that support image input"],
];
for (const [status, message] of refusals)
  test(`a server that says "${message}" gets words instead, and the run goes on`, async () => {
    await using place = makePlace({ "a.png": png });
    await using server = await startModelServer([
      call("Read", { path: "a.png" }),
      problem(status, message),
      call("Read", { path: "a.png" }),
      say("A picture."),
    ]);
    const { end, events } = await exec(place, server, ["What is in a.png?"]);
    expect(end).toMatchObject({ exit: 0, text: "A picture." });
    expect(server.requests.map(({ lines }) => lines.reduce((sum, { images }) => sum + images, 0))).toEqual([
      0, 1, 0, 0,
    ]);
    expect(server.requests[3]?.raw).toContain(word);
    const notices = events.filter((event) => event.type === "notice" && event.code === "images");
    expect(notices).toEqual([expect.objectContaining({ message: expect.stringContaining(`--config '${key}=false'`) })]);
  });

test("a server that refuses the user's own image ends the run: it is not dropped in silence", async () => {
  await using place = makePlace({ "a.png": png });
  await using server = await startModelServer([problem(400, "this is not a multimodal model")]);
  const { end } = await exec(place, server, ["-i", "a.png", "What is it?"]);
  expect(end).toMatchObject({ exit: 1, error: { code: "images" } });
  expect(end.error?.message).toContain("custom/scripted does not accept images");
  expect(server.requests).toHaveLength(1);

  await using blind = await startModelServer([say("I cannot see it.")]);
  const flags = ["--resume", String(end.session), "--config", `${key}=false`];
  const resumed = await exec(place, blind, [...flags, "Go on."]);
  expect(resumed.end.exit).toBe(0);
  expect(blind.requests[0]?.raw).toContain(word);
});

test("a description of --base-url's models needs no address, and is no provider by itself", async () => {
  await using place = makePlace();
  configure(place, { providers: { custom: { models: { x: { images: true } } } } });
  const { stdout, exit } = await koda(place, ["models", "--json"]);
  expect(stdout).not.toContain('"custom"');
  expect(exit).toBe(0);
});
