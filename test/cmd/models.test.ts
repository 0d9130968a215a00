import { expect, test } from "bun:test";
import { join } from "node:path";
import { catalogDate } from "../../lib/model/catalog/names.ts";
import { builtInProviders } from "../../lib/model/providers.ts";
import { makePlace, type Place } from "../support/place.ts";
import { kodaFromSource } from "../support/source.ts";

type Row = {
  name: string;
  usable: boolean;
  status: string;
  key_variable: string | null;
  answers: boolean | null;
  models: { name: string; context_window: number | null; images: boolean | null }[];
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
  expect(stdout).toMatch(/^✓ +gemini +GOOGLE_API_KEY +gemini-3.8-flash +1M +0.75\/3.75$/m);
  expect(stdout).toMatch(/^- +openai +OPENAI_API_KEY +gpt-6-sol +272k +2\/10\+$/m);
  expect(stdout.indexOf("gemini")).toBeLessThan(stdout.indexOf("openai"));
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
  expect(rows.get("shed")?.models).toMatchObject([
    { name: "big", context_window: 9000 },
    { name: "tiny", context_window: null },
  ]);
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

test("the list of providers fits into 80 columns, whatever is set", async () => {
  await using place = makePlace();
  const keys = Object.fromEntries(builtInProviders.flatMap((row) => row.keys.map((name) => [name, "k-12345678"])));
  for (const env of [{}, keys, { ...keys, AWS_REGION: "eu-west-1", AZURE_RESOURCE_NAME: "mine" }]) {
    const { stdout, exit } = await kodaFromSource(place, ["models"], env);
    expect(exit).toBe(0);
    expect(stdout.split("\n").filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
    expect(stdout).toContain(catalogDate);
    for (const { name } of builtInProviders) expect(stdout).toMatch(new RegExp(`^[✓-] ${name} `, "m"));
  }
});

test("a provider whose URL needs a variable says so", async () => {
  await using place = makePlace();
  const env = { AWS_BEARER_TOKEN_BEDROCK: "k-12345678" };
  expect((await rowsOf(place, env)).get("bedrock")).toMatchObject({
    usable: false,
    status: "no URL: set AWS_REGION or AWS_DEFAULT_REGION, or AWS_BEDROCK_BASE_URL",
  });
  const { stdout } = await kodaFromSource(place, ["models"], env);
  expect(stdout).toMatch(/^- +bedrock +AWS_REGION /m);
});

function serve(list: unknown, status = 200) {
  const keys: (string | null)[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      keys.push(request.headers.get("authorization"));
      return new URL(request.url).pathname === "/v1/models"
        ? Response.json(list, { status })
        : new Response("", { status: 404 });
    },
  });
  return { keys, url: `http://127.0.0.1:${server.port}/v1`, [Symbol.dispose]: () => void server.stop(true) };
}

const offer = {
  data: [
    { id: "gpt-6-sol", object: "model" },
    { id: "a-new-one", context_window: 64_000, max_completion_tokens: 8_192, pricing: { input: 1, output: 2 } },
    { id: "unknown-to-all" },
  ],
};

test("koda models PROVIDER lists what the provider offers for the key, with what is known of each", async () => {
  await using place = makePlace();
  using server = serve(offer);
  const env = { OPENAI_API_KEY: "sk-12345678", OPENAI_BASE_URL: server.url };
  const { stdout, stderr, exit } = await kodaFromSource(place, ["models", "openai"], env);
  expect({ stdout, exit }).toEqual({
    exit: 0,
    stdout: `WINDOW  REPLY  IN  CACHED  OUT  MODEL
64k     8k     1           2    a-new-one
272k    128k   2+  0.2     10+  gpt-6-sol (default)
                                unknown-to-all
`,
  });
  expect(stderr).toContain(catalogDate);
  expect(server.keys).toEqual(["Bearer sk-12345678"]);

  const asked = await kodaFromSource(place, ["models", "openai", "--json"], env);
  expect(JSON.parse(asked.stdout)).toMatchObject({
    name: "openai",
    base_url: server.url,
    source: "provider",
    default_model: "gpt-6-sol",
    models: [
      { name: "a-new-one", context_window: 64_000, max_output: 8_192, images: null, price: { input: 1, output: 2 } },
      {
        name: "gpt-6-sol",
        context_window: 272_000,
        price: { input: 2, cached: 0.2, written: 2.5, output: 10, tiers: [{ above: 272_000, output: 15 }] },
      },
      { name: "unknown-to-all", context_window: null, max_output: null, images: null, price: null },
    ],
  });
  expect(stdout + stderr + asked.stdout).not.toContain("sk-12345678");
});

test("the configuration counts more than the provider's list", async () => {
  await using place = makePlace();
  using server = serve(offer);
  const models = { "a-new-one": { context_window: 9_000, price: { input: 7, output: 8 } } };
  const env = configure(place, { providers: { corp: { base_url: server.url, models } } });
  const { stdout } = await kodaFromSource(place, ["models", "corp"], env);
  expect(stdout).toMatch(/^9k +8k +7 +8 +a-new-one \(default\)$/m);
});

test("a provider without a list is described by the catalog, which is said on stderr", async () => {
  await using place = makePlace();
  const env = { AWS_BEARER_TOKEN_BEDROCK: "k-12345678", AWS_REGION: "eu-west-1" };
  const { stdout, stderr, exit } = await kodaFromSource(place, ["models", "bedrock"], env);
  expect(exit).toBe(0);
  expect(stdout).toMatch(/^128k +0.15 +0.6 +openai.gpt-oss-120b-1:0 \(default\)$/m);
  expect(stdout).not.toContain("*");
  expect(stderr).toContain("bedrock has no list of its models; these are from the catalog");
});

test.each<[string, string[], Record<string, string>, number, string]>([
  ["an unknown provider", ["opnai"], {}, 2, '(did you mean "openai"?)'],
  ["no key", ["groq"], {}, 4, "GROQ_API_KEY"],
  ["no URL", ["azure"], { AZURE_OPENAI_API_KEY: "k-12345678" }, 2, "AZURE_OPENAI_ENDPOINT"],
  ["no server", ["groq"], { GROQ_API_KEY: "k-12345678", GROQ_BASE_URL: "http://127.0.0.1:9/v1" }, 9, "127.0.0.1:9"],
])("%s is an error of koda models PROVIDER with its exit code", async (_what, args, env, exit, words) => {
  await using place = makePlace();
  const run = await kodaFromSource(place, ["models", ...args], env);
  expect(run).toMatchObject({ exit, stdout: "" });
  expect(run.stderr).toContain(words);
});

test.each([
  [401, 4, "refused the key from GROQ_API_KEY"],
  [429, 9, "limiting the rate"],
  [500, 9, "unavailable"],
  [404, 0, "groq has no list of its models"],
])("a provider's answer %d ends koda models PROVIDER with %d", async (status, exit, words) => {
  await using place = makePlace();
  using server = serve({ error: { message: "no" } }, status);
  const env = { GROQ_API_KEY: "k-12345678", GROQ_BASE_URL: server.url };
  const run = await kodaFromSource(place, ["models", "groq"], env);
  expect(run.exit).toBe(exit);
  expect(run.stderr).toContain(words);
});

test("each model has one line, whatever its name, and a list without any is no silence", async () => {
  await using place = makePlace();
  using named = serve({ data: [{ id: "good" }, { id: "bad\nkoda: all is well" }] });
  const env = { OPENAI_API_KEY: "sk-12345678" };
  const shown = await kodaFromSource(place, ["models", "openai"], { ...env, OPENAI_BASE_URL: named.url });
  expect(shown.stdout.trimEnd().split("\n")).toEqual([
    expect.stringContaining("MODEL"),
    expect.stringContaining("bad koda: all is well"),
    expect.stringContaining("good"),
  ]);
  using empty = serve({ data: [] });
  const none = await kodaFromSource(place, ["models", "openai"], { ...env, OPENAI_BASE_URL: empty.url });
  expect(none).toMatchObject({ exit: 0, stderr: "koda: openai offers no models for this key.\n" });
});

test("the demo has its one model, and is not asked", async () => {
  await using place = makePlace();
  const { stdout, exit } = await kodaFromSource(place, ["models", "demo"]);
  expect({ exit, last: stdout.trim().split("\n").at(-1)?.trim() }).toEqual({ exit: 0, last: "scripted" });
});
