import { exec } from "./koda.ts";
import { call, say } from "./model-reply.ts";
import { startModelServer } from "./model-server.ts";
import { configure, makePlace } from "./place.ts";

/**
 * koda as the client of the official conformance suite, which runs this program with the URL of its server and names
 * the scenario in the environment. The model makes the call that the scenario waits for.
 */
const [url = ""] = process.argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: scenario = "" } = process.env;
const calls: Readonly<Record<string, ReturnType<typeof call>>> = {
  tools_call: call("suite__add_numbers", { a: 5, b: 3 }),
  "sse-retry": call("suite__test_reconnection"),
  "elicitation-sep1034-client-defaults": call("suite__test_client_elicitation_defaults"),
};

await using place = makePlace();
configure(place, { mcp: { servers: { suite: { url, required: true } } } });
const wanted = calls[scenario];
await using model = await startModelServer([...(wanted === undefined ? [] : [wanted]), say("Done.")]);
const { stdout, exit, end } = await exec(place, model, ["go"]);
console.log(stdout);
process.exitCode = end.tools.failed > 0 ? 1 : (exit ?? 1);
