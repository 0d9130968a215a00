import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { binary, checkLines, exec, koda, type RanExec } from "../support/koda.ts";
import { say, status } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

const scripted = async () => await startModelServer(() => say("ok"));

async function run(place: Place, args: readonly string[], env: Record<string, string> = {}): Promise<RanExec> {
  const ran = await koda(place, ["exec", "--json", ...args], { env });
  return { ...ran, ...checkLines(ran) };
}

/** Runs a line of `end.resume` as a user would paste it. */
async function paste(place: Place, line: string | null | undefined, more = "", env: Record<string, string> = {}) {
  if (!line?.startsWith("koda exec ")) throw new Error(`This continues nothing: ${line}`);
  const ran = await runIn(place, ["sh", "-c", `koda() { "${binary}" "$@"; }; ${line} --json ${more}`], { env });
  return { ...ran, ...checkLines(ran) };
}

describe("a conversation stays with the host that it began with", () => {
  test("a session with --base-url does not go to the provider of the same name", async () => {
    await using place = makePlace();
    await using first = await scripted();
    await using configured = await scripted();
    configure(place, { providers: { groq: { base_url: configured.url, api_key_env: "GROQ_API_KEY" } } });
    const key = { GROQ_API_KEY: "gsk-of-the-configured-one" };
    const { end } = await run(place, ["-m", "groq/x", "--base-url", first.url, "--session", "mine", "secret"], key);
    expect(end.status).toBe("done");

    for (const choice of [["--resume", "mine"], ["--last"], ["--fork", "mine"], ["--session", "mine"]]) {
      const again = await run(place, [...choice, "and?"], key);
      expect(again.end).toMatchObject({ exit: 2, error: { code: "config" } });
      for (const part of ['"mine"', first.url, configured.url, `--base-url ${first.url}`])
        expect(again.end.error?.message).toContain(part);
    }
    expect(configured.requests).toHaveLength(0);

    const there = await run(place, ["--resume", "mine", "--base-url", first.url, "and?"], key);
    expect(there.end.status).toBe("done");
    expect(there.events[0]).toMatchObject({ provider: "groq", model: "x", base_url: first.url });
    const moved = ["--base-url", configured.url, "--api-key-env", "GROQ_API_KEY"];
    expect((await run(place, ["--resume", "mine", ...moved, "and?"], key)).end.status).toBe("done");
    expect(configured.requests[0]?.headers.authorization).toBe("Bearer gsk-of-the-configured-one");
    expect((await run(place, ["--resume", "mine", "and here?"], key)).end.status).toBe("done");
    expect([first.requests.length, configured.requests.length]).toEqual([2, 2]);
  });

  test("a session of an endpoint without a name does not go to the only configured provider", async () => {
    await using place = makePlace();
    await using first = await scripted();
    await using corp = await scripted();
    configure(place, { providers: { corp: { base_url: corp.url } } });
    await run(place, ["-m", "x", "--base-url", first.url, "--session", "mine", "secret"]);
    const again = await run(place, ["--resume", "mine", "and?"]);
    expect(again.end).toMatchObject({ exit: 2, error: { code: "config" } });
    for (const part of ['"mine" is not known', `--base-url ${first.url}`])
      expect(again.end.error?.message).toContain(part);
    expect(corp.requests).toHaveLength(0);
    expect((await run(place, ["--resume", "mine", "--base-url", first.url, "and?"])).end.status).toBe("done");
    expect(first.requests[1]?.body.model).toBe("x");
  });

  test("a configured address that has changed is told, with both", async () => {
    await using place = makePlace();
    await using before = await scripted();
    await using after = await scripted();
    configure(place, { providers: { corp: { base_url: before.url } } });
    await run(place, ["-m", "corp/x", "--session", "mine", "secret"]);
    configure(place, { providers: { corp: { base_url: after.url } } });
    const { end } = await run(place, ["--resume", "mine", "and?"]);
    expect(end.exit).toBe(2);
    for (const part of [before.url, after.url, "corp"]) expect(end.error?.message).toContain(part);
    expect(after.requests).toHaveLength(0);
  });

  test("KODA_MODEL is for new sessions, and -m with another provider is a choice", async () => {
    await using place = makePlace();
    await using one = await scripted();
    await using two = await scripted();
    configure(place, { providers: { one: { base_url: one.url }, two: { base_url: two.url } } });
    await run(place, ["-m", "one/x", "--session", "mine", "secret"]);
    expect((await run(place, ["--resume", "mine", "and?"], { KODA_MODEL: "two/y" })).end.status).toBe("done");
    expect([one.requests.length, two.requests.length]).toEqual([2, 0]);
    const switched = await run(place, ["--resume", "mine", "-m", "two/y", "and?"]);
    expect(switched.end.status).toBe("done");
    expect(switched.stderr).toContain("This session used one/x; continuing with two/y");
    expect(two.requests).toHaveLength(1);
  });

  test("the recorded address given again takes the key that it had", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const env = { CORP_KEY: "sk-of-the-company" };
    await run(
      place,
      ["-m", "x", "--base-url", server.url, "--api-key-env", "CORP_KEY", "--session", "mine", "hi"],
      env,
    );
    await run(place, ["--base-url", server.url, "--resume", "mine", "and?"], env);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(
      Array(2).fill("Bearer sk-of-the-company"),
    );
  });

  test("a session that is continued in another directory says so", async () => {
    await using place = makePlace();
    await using server = await scripted();
    await run(place, ["-m", "x", "--base-url", server.url, "--session", "mine", "hi"]);
    mkdirSync(join(place.project, "elsewhere"));
    const args = ["--base-url", server.url, "-C", "elsewhere", "--resume", "mine", "and?"];
    const { stderr, end } = await run(place, args);
    expect(end.status).toBe("done");
    expect(stderr).toContain(`This session worked in "${place.project}"; continuing in "${place.project}/elsewhere"`);
  });

  test("an address is recorded without what may be a secret", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const url = `${server.url}?api-version=1&key=sk-in-the-query`;
    const { end, stdout, stderr } = await run(place, ["-m", "x", "--base-url", url, "--session", "mine", "hi"]);
    expect(end.status).toBe("done");
    const exported = await koda(place, ["session", "export", "mine", "--format", "jsonl"]);
    const stored = await Bun.file(join(place.home, ".local/share/koda/koda.db")).text();
    for (const text of [stdout, stderr, exported.stdout, stored]) expect(text).not.toContain("sk-in-the-query");
    expect((await run(place, ["--resume", "mine", "--base-url", url, "and?"])).end.status).toBe("done");
  });
});

describe("the address of a provider comes from its usual variable", () => {
  test("with the provider's own key, in the first event and the banner", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "sk-of-the-company" };
    const { end, events, stderr } = await run(place, ["-m", "openai/gpt-5", "hi"], env);
    expect(end.status).toBe("done");
    expect(server.requests[0]?.headers.authorization).toBe("Bearer sk-of-the-company");
    expect(events[0]).toMatchObject({ provider: "openai", base_url: server.url });
    expect(stderr).toContain(`openai/gpt-5 at ${server.url}`);
  });

  test.each([
    ["ANTHROPIC_BASE_URL", "anthropic/m", { ANTHROPIC_API_KEY: "key-long-enough" }, "/v1/messages"],
    ["GROQ_BASE_URL", "groq/m", { GROQ_API_KEY: "key-long-enough" }, "/v1/chat/completions"],
    ["OLLAMA_HOST", "ollama/m", {}, "/v1/chat/completions"],
  ] as const)(
    "%s takes an address without a path, as the provider's own clients do",
    async (name, model, keys, path) => {
      await using place = makePlace();
      await using server = await scripted();
      const { end } = await run(place, ["-m", model, "hi"], { [name]: server.origin, ...keys });
      expect(end.status).toBe("done");
      expect(server.requests[0]?.path).toEndWith(path);
    },
  );

  test("--base-url and an empty variable leave it aside, and one that is no address is refused by its name", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const bad = { OPENAI_BASE_URL: "gateway.corp", OPENAI_API_KEY: "sk-of-the-company" };
    expect((await run(place, ["-m", "openai/x", "--base-url", server.url, "hi"], bad)).end.status).toBe("done");
    const { end } = await run(place, ["-m", "openai/x", "hi"], bad);
    expect(end).toMatchObject({ exit: 2, error: { code: "config" } });
    expect(end.error?.message).toContain('OPENAI_BASE_URL is "gateway.corp"');
  });

  test("it stands above the user's configuration", async () => {
    await using place = makePlace();
    await using fromFile = await scripted();
    await using fromVariable = await scripted();
    configure(place, { providers: { openai: { base_url: fromFile.url, api_key_env: "FILE_KEY", wire: "chat" } } });
    const env = { OPENAI_BASE_URL: fromVariable.url, OPENAI_API_KEY: "sk-usual-key", FILE_KEY: "sk-file-key" };
    expect((await run(place, ["-m", "openai/x", "hi"], env)).end.status).toBe("done");
    expect(fromFile.requests).toHaveLength(0);
    expect(fromVariable.requests[0]?.headers.authorization).toBe("Bearer sk-usual-key");
  });
});

describe("the line that continues a session works as it is printed", () => {
  test("after a turn that was cut off, with every flag that the run had", async () => {
    await using place = makePlace();
    await using server = await startModelServer((_, index) => (index === 0 ? status(400, { error: "no" }) : say("ok")));
    mkdirSync(join(place.project, "sub dir"));
    const flags = ["-C", "sub dir", "--mode", "plan", "--allow-net", "*.example.com", "--api-key-env", "CORP_KEY"];
    const env = { CORP_KEY: "sk-corp-key" };
    const first = await run(place, ["-m", "groq/x", "--base-url", server.url, ...flags, "do it"], env);
    expect(first.end).toMatchObject({ exit: 1, status: "failed" });
    expect(first.stderr).toContain(`to continue: ${first.end.resume}\n`);

    const second = await paste(place, first.end.resume, "", env);
    expect(second.end).toMatchObject({ status: "done", session: first.end.session });
    expect(second.events[0]).toMatchObject({ cwd: join(place.project, "sub dir"), mode: "plan", provider: "groq" });
    expect(second.events[0]).toMatchObject({ egress: { allow: expect.arrayContaining(["*.example.com"]) } });
    expect(server.requests[1]?.lines.map(({ text }) => text).join("\n")).toContain("The last turn did not finish.");
  });

  test("after a complete turn it wants a prompt, and says so", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const first = await exec(place, server, ["hi"]);
    expect(first.stderr).toContain(`to continue: ${first.end.resume} "…"\n`);
    const bare = await paste(place, first.end.resume);
    expect(bare.end).toMatchObject({ exit: 2, error: { code: "usage" } });
    expect(bare.end.error?.message).toContain("add a prompt");
    expect((await paste(place, first.end.resume, '"and now?"')).end.status).toBe("done");
    expect(server.requests).toHaveLength(2);
  });

  test("a complete turn whose answer was not delivered wants a prompt too", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const script = `"$0" exec -m x --base-url ${server.url} hi > /dev/full`;
    const { exit, stderr } = await runIn(place, ["sh", "-c", script, binary]);
    expect(exit).toBe(11);
    const [, line] = /to continue: (.*) "…"\n/.exec(stderr) ?? [];
    expect((await paste(place, line, '"again"')).end.status).toBe("done");
  });

  test("no secret of the command line is repeated, and what is none still is", async () => {
    await using place = makePlace();
    await using server = await scripted();
    const secrets = [
      'providers={"corp":{"headers":{"authorization":"Bearer sk-in-a-header"}}}',
      'providers.corp.headers.x-team="opaque-in-a-header"',
      'providers.corp.api_key_command=["echo","opaque-in-a-command"]',
      "providers.corp.base_url=https://corp.invalid/v1?code=opaque-in-a-set",
    ];
    const shown = ["egress.mode=none", "providers.corp.base_url=https://corp.invalid/v1?api-version=2"];
    const address = `${server.url}?api-version=1&code=opaque-in-a-query&opaque-without-a-name`;
    const flags = [...secrets, ...shown].flatMap((set) => ["--config", set]);
    const { end, stdout, stderr } = await run(place, ["-m", "x", "--base-url", address, ...flags, "hi"]);
    expect(end.status).toBe("done");
    expect(stdout + stderr).not.toMatch(/(sk|opaque)-in-a|opaque-without/);
    expect(end.resume).toContain(`'${server.url}?api-version=1'`);
    for (const set of shown) expect(end.resume).toContain(set);
    expect(end.resume?.match(/--config/g)).toHaveLength(shown.length);
  });

  test("the line judges the answer as the run did, wherever it is pasted", async () => {
    await using place = makePlace({ "answer.json": '{"type":"object","required":["n"]}', "sub/a.txt": "" });
    await using server = await startModelServer(() => say('{"n":1}'));
    const flags = ["--output-schema", "answer.json", "--fail-on", "denied", "--fail-on", "no-change"];
    const first = await exec(place, server, [...flags, "hi"]);
    expect(first.end.error?.code).toBe("no_change");
    const schema = join(place.project, "answer.json");
    expect(first.end.resume).toContain(`--output-schema ${schema} --fail-on denied --fail-on no-change`);
    const second = await paste({ ...place, project: join(place.project, "sub") }, first.end.resume, '"again"');
    expect(second.end.error?.code).toBe("no_change");
  });

  test("the demo, which plays once, offers none", async () => {
    await using place = makePlace();
    const { end, stderr } = await run(place, ["-m", "demo"]);
    expect(end).toMatchObject({ status: "done", resume: null });
    expect(stderr).not.toContain("to continue");
  });
});

test("the window of a local model is that of its server", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hi.")]);
  await using ollama = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/api/ps") return Response.json({ models: [{ model: "q:8b", context_length: 16_384 }] });
      return await fetch(new URL(pathname, server.url), { method: "POST", body: await request.text() });
    },
  });
  const env = { OLLAMA_HOST: `127.0.0.1:${ollama.port}` };
  const { events, end } = checkLines(await koda(place, ["exec", "--json", "-m", "ollama/q:8b", "hello"], { env }));
  expect(end).toMatchObject({ exit: 0, text: "Hi." });
  expect(events.find(({ type }) => type === "usage")).toMatchObject({ context: { window: 16_384 } });
});
