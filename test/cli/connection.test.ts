import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../support/certificate.ts";
import { checkLines, koda, type RanExec } from "../support/koda.ts";
import { refusingUrl, startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

/** Runs koda against an address, without a sandbox: no command is run here. */
async function ask(place: Place, url: string, env: Record<string, string> = {}, model = "x"): Promise<RanExec> {
  const args = ["exec", "--json", "--no-sandbox", "--ephemeral", "-m", model, "--base-url", url];
  const ran = await koda(place, [...args, ...("KEY" in env ? ["--api-key-env", "KEY"] : []), "hi"], { env });
  return { ...ran, ...checkLines(ran) };
}

describe("a server whose certificate a CA of the company's own signed", () => {
  const { certificate, key } = makeCertificate(["localhost"]);
  const answer = { choices: [{ message: { content: "hello" }, finish_reason: "stop" }] };

  async function askSecurely(variable?: string): Promise<RanExec> {
    await using place = makePlace();
    const file = join(place.home, "ca.pem");
    writeFileSync(file, certificate);
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { cert: certificate, key },
      fetch: () => Response.json(answer),
    });
    return await ask(place, `https://localhost:${server.port}/v1`, variable === undefined ? {} : { [variable]: file });
  }

  test("is refused at once, and what would help is named", async () => {
    const { end, events } = await askSecurely();
    expect(end).toMatchObject({ exit: 9, error: { code: "network", retryable: false } });
    expect(end.error?.message).toMatch(/certificate is not trusted \([A-Z_]+\).*NODE_EXTRA_CA_CERTS or SSL_CERT_FILE/);
    expect(events.filter(({ type }) => type === "retry")).toEqual([]);
  });

  for (const variable of ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"])
    test(`is trusted with ${variable}`, async () => {
      expect((await askSecurely(variable)).end).toMatchObject({ exit: 0, text: "hello" });
    });
});

describe("a proxy that is not there is named without its password", () => {
  const rows = [
    ["HTTPS_PROXY", "https://model.invalid/v1"],
    ["http_proxy", "http://model.invalid/v1"],
    ["ALL_PROXY", "https://model.invalid/v1"],
  ] as const;
  for (const [variable, url] of rows)
    test(variable, async () => {
      await using place = makePlace();
      const { host } = new URL(await refusingUrl());
      const { end, stdout, stderr } = await ask(place, url, { [variable]: `http://someone:hunter2@${host}` });
      expect(end).toMatchObject({ exit: 9, error: { code: "network" } });
      expect(end.error?.message).toBe(
        `Cannot connect to ${url} through the proxy ${host} (${variable}): connection refused`,
      );
      expect(stdout + stderr).not.toContain("hunter2");
    });

  test("and is not blamed for what goes past it", async () => {
    await using place = makePlace();
    const url = await refusingUrl();
    const { end } = await ask(place, url, { HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" });
    expect(end.error?.message).toBe(`No server listens at ${url}: connection refused`);
  });
});

test("a server on this machine that refuses is not asked again", async () => {
  await using place = makePlace();
  const url = await refusingUrl();
  const { end, events } = await ask(place, url);
  expect(end).toMatchObject({
    exit: 9,
    error: { code: "network", message: `No server listens at ${url}: connection refused` },
  });
  expect(events.filter(({ type }) => type === "retry")).toEqual([]);
});

describe("a key that cannot be in a header is refused before it is sent:", () => {
  const rows = [
    ["in curly quotes", "“sk-hunter2”", "U+201C"],
    ["over two lines", "sk-hunter2\nsk-hunter3", "U+000A"],
    ["with an invisible character", "sk-hunter2\u200b3", "U+200B"],
  ] as const;
  for (const [name, value, character] of rows)
    test(name, async () => {
      await using place = makePlace();
      await using server = await startModelServer([]);
      const { end, stdout, stderr } = await ask(place, server.url, { KEY: value });
      expect(end).toMatchObject({ exit: 4, error: { code: "credentials" } });
      expect(end.error?.message).toContain(`The key in KEY cannot be sent: it contains ${character}`);
      expect(stdout + stderr).not.toContain("hunter");
      expect(server.requests).toHaveLength(0);
    });
});

describe("an unknown provider is said to be unknown, with what there is", () => {
  const rows: readonly [model: string, env: Record<string, string>, says: readonly string[]][] = [
    ["nosuch/gpt-5", {}, ['Unknown provider "nosuch"', "no key is set", "koda models"]],
    ["nosuch/gpt-5", { OPENAI_API_KEY: "k" }, ['Unknown provider "nosuch"', "Available here: openai"]],
    ["opnai/gpt-5", { XAI_API_KEY: "k" }, ['(did you mean "openai/gpt-5"?)', "Available here: xai"]],
  ];
  for (const [model, env, says] of rows)
    test(`-m ${model} with ${Object.keys(env).join("") || "nothing"}`, async () => {
      await using place = makePlace();
      const ran = await koda(place, ["exec", "--no-sandbox", "-m", model, "hi"], { env });
      expect(ran).toMatchObject({ exit: 2, stdout: "" });
      for (const text of says) expect(ran.stderr).toContain(text);
    });
});
