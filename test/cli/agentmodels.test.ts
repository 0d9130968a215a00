import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentEvents, defineAgent, invoke, resultsIn, scriptFor } from "../support/agents.ts";
import { exec } from "../support/koda.ts";
import { call, problem, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

/** Agents whose definitions name models of another provider than the run's. */
const secret = "corp-0123456789abcdef";

function withCorp(place: Place, url: string, more: object = {}, models: object = { big: {} }): void {
  defineAgent(place, "other", { model: "corp/big", tools: "Bash Read" });
  configure(place, { providers: { corp: { base_url: url, ...more, models } } });
}

test("the key of an agent's model reaches no command, neither its own nor its parent's", async () => {
  await using place = makePlace();
  const look = call("Bash", { command: "env" });
  const theirs = scriptFor({ CHILD: [look, say("Looked.")] });
  await using corp = await startModelServer(theirs);
  withCorp(place, corp.url, { api_key_env: "CORP_LOGIN" });
  await using server = await startModelServer([look, invoke("other", "CHILD"), say("End.")]);
  const flags = ["--allow-env", "CORP_LOGIN", "--allow-env", "OTHER", "go"];
  const { events, end, stdout } = await exec(place, server, flags, { env: { CORP_LOGIN: secret, OTHER: "seen" } });
  expect([...server.problems, ...corp.problems, end.tools]).toEqual([{ ok: 3, failed: 0, denied: 0 }]);
  expect(corp.requests.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill(`Bearer ${secret}`));
  for (const printed of [resultsIn(server.requests[1]), resultsIn(corp.requests[1])].flat()) {
    expect(printed).toContain("OTHER=seen");
    expect(printed).not.toContain("CORP_LOGIN");
  }
  expect(stdout).not.toContain(secret);
  expect(events).toContainEqual(
    expect.objectContaining({ code: "environment", message: expect.stringContaining('"CORP_LOGIN" is not passed on') }),
  );
});

test("that a tool returned the key of an agent's model is told once, and a cassette has none", async () => {
  await using place = makePlace({ "config.ini": `login=${secret}\n` });
  const read = call("Read", { path: "config.ini" });
  await using corp = await startModelServer(scriptFor({ CHILD: [read, say("Read.")] }));
  withCorp(place, corp.url, { api_key_env: "CORP_LOGIN" });
  await using server = await startModelServer([read, invoke("other", "CHILD"), read, say("End.")]);
  const { events } = await exec(place, server, ["--record", "../tape", "go"], { env: { CORP_LOGIN: secret } });
  const notices = [...events, ...agentEvents(events)].filter(({ type }) => type === "notice");
  const told = notices.flatMap((event) => (event.type === "notice" && event.code === "key_exposed" ? [event] : []));
  expect(told.map(({ message }) => message)).toEqual([
    expect.stringContaining("The API key from CORP_LOGIN is in the result of Read"),
  ]);
  const tape = readFileSync(join(place.project, "../tape"), "utf8");
  expect(tape).toContain("login=[key]");
  expect(tape).not.toContain(secret);
});

test("an agent's model has its own api_key_command, which is run again when the key is refused", async () => {
  await using place = makePlace();
  const [program, count] = [join(place.home, "key"), join(place.home, "count")];
  const script = `#!/bin/sh\necho x >> ${count}\necho "corp-key-$(wc -l < ${count} | tr -d ' ')"\n`;
  writeFileSync(program, script, { mode: 0o755 });
  const seen: unknown[] = [];
  await using corp = await startModelServer(({ headers }) => {
    seen.push(headers.authorization);
    return seen.length === 1
      ? problem(401, `Expired: ${headers.authorization}`)
      : seen.length === 2
        ? busy
        : say("Hi.");
  });
  withCorp(place, corp.url, { api_key_command: [program] });
  await using server = await startModelServer([invoke("other", "CHILD"), say("End.")]);
  const { events, end } = await exec(place, server, ["go"]);
  expect([end.exit, end.agents]).toEqual([0, { ok: 1, failed: 0, cancelled: 0 }]);
  expect(seen).toEqual(["Bearer corp-key-1", "Bearer corp-key-2", "Bearer corp-key-2"]);
  expect(agentEvents(events).filter(({ type }) => type === "retry")).toHaveLength(1);
  expect(resultsIn(server.requests[1])).toEqual(["Hi."]);
});

const busy = problem(503, "Busy", { "retry-after-ms": "1" });

test("an agent whose model has no key or no price cannot be started: a failed call that says so", async () => {
  await using place = makePlace();
  await using corp = await startModelServer([]);
  const ask = async (...flags: string[]) => {
    await using server = await startModelServer([invoke("other", "CHILD"), say("End.")]);
    const price = { scripted: { price: { input: 1, output: 1 } } };
    const config = ["--config", `providers.custom.models=${JSON.stringify(price)}`];
    const { end } = await exec(place, server, [...config, ...flags, "go"]);
    expect([end.exit, end.agents, end.tools]).toEqual([0, undefined, { ok: 0, failed: 1, denied: 0 }]);
    return resultsIn(server.requests[1])[0];
  };
  withCorp(place, corp.url, { api_key_env: "CORP_LOGIN" });
  expect(await ask()).toBe(
    'The agent was not started: No API key for the provider "corp": set CORP_LOGIN, or name another variable with --api-key-env',
  );
  withCorp(place, corp.url);
  expect(await ask("--max-cost", "1")).toMatch(/^The agent was not started: .*corp\/big.*price/);
  expect(corp.requests).toEqual([]);
});
