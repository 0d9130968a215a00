import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";

/** The official suite for clients, whose servers talk HTTP on loopback. */
const suite = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));
const client = fileURLToPath(import.meta.resolve("../support/mcp-conformance-program.ts"));

const passing = ["initialize", "tools_call", "sse-retry"];

/** What koda does not do: it asks nobody, and signs in nowhere. `said` is the reason that a run gives. */
const declined = [
  { name: /^elicitation-/, example: "elicitation-sep1034-client-defaults", said: "Elicitation was not accepted" },
  { name: /^auth\//, example: "auth/metadata-default", said: "koda has no browser flow" },
];

async function run(scenario: string) {
  await using place = makePlace();
  const results = join(place.home, "results");
  const command = `${process.execPath} ${client}`;
  const argv = [process.execPath, suite, "client", "--command", command, "--scenario", scenario, "-o", results];
  const ran = await runIn(place, argv, { cwd: process.cwd() });
  const files = readdirSync(results, { recursive: true, encoding: "utf8" });
  const file = (name: string) => readFileSync(join(results, files.find((path) => path.endsWith(name)) ?? name), "utf8");
  const checks: { status: string }[] = JSON.parse(file("checks.json"));
  return { ...ran, events: file("stdout.txt"), checks: checks.map(({ status }) => status) };
}

test.each(passing)("koda passes the conformance scenario %s", async (scenario) => {
  const { exit, events, checks } = await run(scenario);
  expect(checks, events).toContain("SUCCESS");
  expect(checks, events).not.toContain("FAILURE");
  expect(exit).toBe(0);
});

test.each(declined)("koda declines what the scenario $example wants, and says so", async ({ example, said }) => {
  const { exit, events } = await run(example);
  expect(exit).toBe(1);
  expect(events).toContain(said);
});

test("each scenario of the suite passes, or belongs to what is declined", async () => {
  await using place = makePlace();
  const { stdout } = await runIn(place, [process.execPath, suite, "list", "--client"]);
  const scenarios = [...stdout.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
  expect(scenarios.length).toBeGreaterThan(20);
  const isKnown = (scenario: string) => passing.includes(scenario) || declined.some(({ name }) => name.test(scenario));
  expect(scenarios.filter((scenario) => !isKnown(scenario))).toEqual([]);
});
