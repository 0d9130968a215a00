import { expect, test } from "bun:test";
import { join } from "node:path";
import { makePlace, type Place } from "../support/place.ts";
import { kodaFromSource } from "../support/source.ts";

type Row = {
  name: string;
  usable: boolean;
  status: string;
  key_variable: string | null;
  answers: boolean | null;
  models: { name: string; context_window: number; images: boolean | null }[];
};

async function rowsOf(place: Place, env: Record<string, string> = {}): Promise<Map<string, Row>> {
  const { stdout, stderr, exit } = await kodaFromSource(place, ["models", "--json"], env);
  expect({ stderr, exit }).toEqual({ stderr: "", exit: 0 });
  return new Map((JSON.parse(stdout) as Row[]).map((row) => [row.name, row]));
}

function configure(place: Place, config: object): Record<string, string> {
  place.write("home/config.json", JSON.stringify(config));
  return { KODA_HOME: join(place.project, "home") };
}

test("a provider can be used when its key is set, and only the variable's name is told", async () => {
  await using place = makePlace();
  const env = { GOOGLE_API_KEY: "sk-very-secret" };
  const rows = await rowsOf(place, env);
  expect(rows.get("gemini")).toMatchObject({
    usable: true,
    key_variable: "GOOGLE_API_KEY",
    status: "key from GOOGLE_API_KEY",
  });
  expect(rows.get("openai")).toMatchObject({ usable: false, key_variable: null, status: "no key: set OPENAI_API_KEY" });
  expect(rows.get("openai")?.models.length).toBeGreaterThan(3);

  const { stdout } = await kodaFromSource(place, ["models"], env);
  expect(stdout).toMatch(/^✓ +gemini +key from GOOGLE_API_KEY +gemini-2.5-pro$/m);
  expect(stdout).toMatch(/^- +openai +no key: set OPENAI_API_KEY/m);
  expect(stdout).toMatch(/^gemini\/gemini-2.5-pro +[\d,]+ +images +\$/m);
  expect(stdout).not.toMatch(/^openai\/gpt/m);
  expect(stdout + JSON.stringify([...rows])).not.toContain("sk-very-secret");
});

test("the scripted model is always there", async () => {
  await using place = makePlace();
  expect((await rowsOf(place)).get("demo")).toMatchObject({
    usable: true,
    status: "scripted, needs no key and no network",
  });
});

test("a server on this machine is asked for its models", async () => {
  await using place = makePlace();
  using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json({ data: [{ id: "tiny" }] }) });
  const url = `http://127.0.0.1:${server.port}/v1`;
  const rows = await rowsOf(
    place,
    configure(place, { providers: { shed: { base_url: url, models: { big: { context_window: 9000 } } } } }),
  );
  expect(rows.get("shed")).toMatchObject({ usable: true, answers: true, status: `answers at ${url}` });
  expect(rows.get("shed")?.models).toMatchObject([{ name: "big", context_window: 9000 }, { name: "tiny" }]);
});

test("one that does not answer is waited for only briefly", async () => {
  await using place = makePlace();
  using server = Bun.listen({ port: 0, hostname: "127.0.0.1", socket: { data: () => undefined } });
  const url = `http://localhost:${server.port}/v1`.replace("localhost", "127.0.0.1");
  const rows = await rowsOf(place, configure(place, { providers: { shed: { base_url: url } } }));
  expect(rows.get("shed")).toMatchObject({ usable: false, answers: false, status: `does not answer at ${url}` });
});

test("a name that begins like an address of this machine is elsewhere, and not asked", async () => {
  await using place = makePlace();
  const corp = { base_url: "http://127.0.0.1.llm.invalid/v1" };
  const rows = await rowsOf(place, configure(place, { providers: { corp } }));
  expect(rows.get("corp")).toMatchObject({ usable: true, answers: null, status: "needs no key" });
});

test("a configured provider elsewhere is not asked, and needs the key that is named for it", async () => {
  await using place = makePlace();
  const corp = { base_url: "https://llm.corp.invalid/v1", api_key_env: "CORP_KEY" };
  const env = configure(place, { providers: { corp } });
  expect((await rowsOf(place, env)).get("corp")).toMatchObject({
    usable: false,
    answers: null,
    status: "no key: set CORP_KEY",
  });
  expect((await rowsOf(place, { ...env, CORP_KEY: "k" })).get("corp")).toMatchObject({ usable: true, answers: null });
});

test("a broken configuration is named, with exit 2", async () => {
  await using place = makePlace();
  const { stderr, exit } = await kodaFromSource(place, ["models"], configure(place, { modle: "x" }));
  expect(stderr).toContain('"modle"');
  expect(exit).toBe(2);
});
