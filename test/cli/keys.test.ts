import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { exec, koda, using } from "../support/koda.ts";
import { call, problem, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

const key = "sk-test-0123456789abcdef";
const token = "tok-fedcba9876543210";
const secrets = { MY_KEY: key, DEPLOY_TOKEN: token };
const flags = ["--api-key-env", "MY_KEY"];

test("what a file holds is the same wherever koda writes it, and a cassette has no key", async () => {
  await using place = makePlace({ ".env": `KEY=${key}\nTOKEN=${token}\n` });
  await using server = await startModelServer([call("Bash", { command: "cat .env" }), say(`It is ${key}.`)]);
  const run = [...flags, "--record", "../tape", "-o", "answer.md", "-v", "What is it?"];
  const { stdout, stderr, end } = await exec(place, server, run, { env: secrets });

  expect(end).toMatchObject({ exit: 0, text: `It is ${key}.` });
  expect(readFileSync(join(place.project, "answer.md"), "utf8")).toBe(`It is ${key}.`);
  const session = (await koda(place, ["session", "export", String(end.session)])).stdout;
  for (const written of [server.requests[1]?.raw, stdout, stderr, session]) {
    expect(written).toContain(key);
    expect(written).toContain(token);
  }
  const tape = readFileSync(join(place.project, "../tape"), "utf8");
  expect(tape).toContain("KEY=[key]");
  expect(tape).not.toContain(key);
  expect(tape).not.toContain(token);
});

test("that a tool returned the key of the run is told once", async () => {
  await using place = makePlace({ ".env": `KEY=${key}\n` });
  const read = call("Read", { path: ".env" });
  await using server = await startModelServer([read, read, say("Done."), read, say("Done.")]);
  const told = (events: readonly { type: string; code?: string; message?: string }[]) =>
    events.filter(({ type, code }) => type === "notice" && code === "key_exposed").map(({ message }) => message);

  const exposed = await exec(place, server, [...flags, "hi"], { env: secrets });
  expect(told(exposed.events)).toEqual([expect.stringMatching(/^The API key from MY_KEY is in the result of Read: /)]);
  const hidden = await exec(place, server, [...flags, "--deny-read", ".env", "hi"], { env: secrets });
  expect(told(hidden.events)).toEqual([]);
  expect(hidden.stdout).not.toContain(key);
});

test("a message that quotes the provider has no key in it", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => problem(401, `Incorrect API key provided: ${key}`));
  const ran = await koda(place, ["exec", ...using(server), ...flags, "hi"], { env: secrets });
  expect(ran.exit).toBe(4);
  expect(ran.stderr).toContain("Incorrect API key provided: [key]");
});

test("a key shorter than eight characters is not looked for: messages and cassettes stay as they are", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    say("An answer."),
    problem(401, "There is no key like that, nor in a car"),
  ]);
  const run = ["exec", ...using(server), ...flags, "hi"];
  const env = { MY_KEY: "a" };
  expect((await koda(place, [...run, "--record", "../tape"], { env })).exit).toBe(0);
  expect(readFileSync(join(place.project, "../tape"), "utf8")).toContain(" answer.");
  const refused = await koda(place, run, { env });
  expect(refused.exit).toBe(4);
  expect(refused.stderr).toContain('401 "There is no key like that, nor in a car"');
});

test("a key of eight characters is in no message and no cassette", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("It is k3y-8888."), problem(401, "k3y-8888 is wrong")]);
  const run = ["exec", ...using(server), ...flags, "hi"];
  const env = { MY_KEY: "k3y-8888" };
  expect((await koda(place, [...run, "--record", "../tape"], { env })).exit).toBe(0);
  expect(readFileSync(join(place.project, "../tape"), "utf8")).not.toContain("k3y-8888");
  expect((await koda(place, run, { env })).stderr).toContain('401 "[key] is wrong"');
});
