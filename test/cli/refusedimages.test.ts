import { expect, test } from "bun:test";
import { wires } from "../../lib/config/config.ts";
import { exec, koda } from "../support/koda.ts";
import { call, problem, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const files = { "a.png": png, "b.png": png };
const refusal = () => problem(400, "The image data you provided does not represent a valid image.");
const read = (path: string) => call("Read", { path });
const word = "Invalid image";
const advice = "Invalid image in your last message. Please remove it and try again.";

for (const wire of wires)
  test(`an image of a tool that the provider refuses is left out, and the run goes on, over ${wire}`, async () => {
    await using place = makePlace(files);
    await using server = await startModelServer([read("a.png"), refusal(), say("I cannot see it."), say("Yes.")]);
    const { events, end } = await exec(place, server, ["--wire", wire, "What is in a.png?"]);
    expect(end).toMatchObject({ exit: 0, text: "I cannot see it." });
    const images = () => server.requests.map(({ lines }) => lines.reduce((sum, line) => sum + line.images, 0));
    expect(images()).toEqual([0, 1, 0]);
    expect(server.requests[2]?.lines.at(-1)?.text).toContain(word);
    expect(events.find(({ type }) => type === "notice")).toMatchObject({
      code: "invalid_image",
      message: expect.stringContaining("does not represent a valid image"),
    });

    const resumed = await exec(place, server, ["--wire", wire, "--resume", end.session ?? "", "Really?"]);
    expect(resumed.end.exit).toBe(0);
    expect(images()).toEqual([0, 1, 0, 0]);
    expect(server.problems).toEqual([]);
  });

test("the log keeps the image and a mark, and what was sent before the image stays as it was", async () => {
  await using place = makePlace(files);
  await using server = await startModelServer([read("a.png"), refusal(), say("No.")]);
  const { end } = await exec(place, server, ["What is in a.png?"]);
  const shown = JSON.parse((await koda(place, ["session", "show", "--json", end.session ?? ""])).stdout);
  const kinds = shown.items.map(({ kind }: { kind: string }) => kind);
  expect(kinds.slice(-4)).toEqual(["result", "images_removed", "assistant", "turn_end"]);
  expect(JSON.stringify(shown.items.at(-4))).toContain('"type":"image"');
  const [, refused, again] = server.requests.map(({ raw }) => raw);
  const common = refused?.indexOf("image_url") ?? 0;
  expect(again?.slice(0, 500)).toBe(refused?.slice(0, 500) ?? "");
  expect(common).toBeGreaterThan(500);
});

test("images of earlier turns stay while those of this turn are left out", async () => {
  await using place = makePlace(files);
  await using server = await startModelServer([
    read("a.png"),
    say("A dot."),
    read("b.png"),
    refusal(),
    read("a.png"),
    say("Two."),
  ]);
  const first = await exec(place, server, ["What is in a.png?"]);
  const second = await exec(place, server, ["--resume", first.end.session ?? "", "And in b.png?"]);
  expect(second.end.exit).toBe(0);
  const images = server.requests.map(({ lines }) => lines.reduce((sum, line) => sum + line.images, 0));
  expect(images).toEqual([0, 1, 1, 2, 1, 2]);
});

test("a refused image of the user's own leaves those of earlier turns alone", async () => {
  await using place = makePlace(files);
  await using server = await startModelServer([say("A dot."), refusal(), say("What image?")]);
  const { end } = await exec(place, server, ["-i", "a.png", "What is it?"]);
  const session = ["--resume", end.session ?? ""];
  expect((await exec(place, server, [...session, "-i", "b.png", "And this?"])).end.exit).toBe(1);
  expect((await exec(place, server, [...session, "Go on."])).end.exit).toBe(0);
  expect(server.requests.map(({ lines }) => lines.reduce((sum, line) => sum + line.images, 0))).toEqual([1, 2, 1]);
});

test("the user's own image ends the run with advice, and the session goes on without it", async () => {
  await using place = makePlace(files);
  await using server = await startModelServer([refusal(), say("What image?")]);
  const { end, events } = await exec(place, server, ["-i", "a.png", "What is it?"]);
  expect(end).toMatchObject({ exit: 1, error: { code: "invalid_image", message: advice, http_status: 400 } });
  expect(events.find(({ type }) => type === "notice")).toMatchObject({
    message: expect.stringContaining(
      'If the session goes on, the text "Invalid image" replaces the images of this turn',
    ),
  });
  expect(server.requests).toHaveLength(1);

  const resumed = await exec(place, server, ["--resume", end.session ?? "", "Go on."]);
  expect(resumed.end.exit).toBe(0);
  const lines = server.requests[1]?.lines ?? [];
  expect(lines.map(({ images }) => images)).not.toContain(1);
  expect(lines.map(({ text }) => text).join("\n")).toContain(word);
});

test("a provider that refuses images without end ends the run", async () => {
  await using place = makePlace(files);
  await using server = await startModelServer([read("a.png"), ...Array.from({ length: 5 }, refusal)]);
  const { end } = await exec(place, server, ["-i", "b.png", "Compare a.png with this."]);
  expect(end).toMatchObject({ exit: 1, error: { code: "invalid_image", message: advice } });
  expect(server.requests).toHaveLength(3);
});

test("an old image that another provider accepted is left out as well", async () => {
  await using place = makePlace(files);
  await using server = await startModelServer([say("A dot."), refusal(), say("Gone."), refusal()]);
  const { end } = await exec(place, server, ["-i", "a.png", "What is it?"]);
  const resumed = await exec(place, server, ["--resume", end.session ?? "", "And now?"]);
  expect(resumed.end).toMatchObject({ exit: 0, text: "Gone." });
  expect(server.requests[2]?.lines.map(({ images }) => images)).not.toContain(1);

  const without = await exec(place, server, ["no image at all"]);
  expect(without.end).toMatchObject({ exit: 1, error: { code: "invalid_image" } });
  expect(without.end.error?.message).toContain("does not represent a valid image");
});
