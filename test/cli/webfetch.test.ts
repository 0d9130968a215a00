import { expect, test } from "bun:test";
import { exec, type Line } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { redirect, reply, startSite } from "../support/site.ts";

const results = (events: readonly Line[]) => events.filter((event) => event.type === "tool.end");

test("a page is fetched for the model where the rules allow its host, and nothing else", async () => {
  await using place = makePlace();
  await using trap = await startSite({ "/": reply("secret") });
  await using site = await startSite({
    "/": reply("<h1>Hello</h1><p>from the web", { type: "text/html" }),
    "/trap": redirect(trap.url()),
  });
  await using model = await startModelServer([
    [
      call("WebFetch", { url: site.url() }),
      call("WebFetch", { url: site.url("/trap") }),
      call("WebFetch", { url: trap.url() }),
    ],
    say("Done."),
  ]);
  const { events, end } = await exec(place, model, ["--no-sandbox", "--allow-net", `127.0.0.1:${site.port}`, "look"]);
  expect(end).toMatchObject({ status: "done", tools: { ok: 1, denied: 2, failed: 0 } });
  const page = results(events).find(({ ok }) => ok);
  const refused = results(events).filter(({ ok }) => !ok);
  expect(page?.summary).toEndWith("\n\n# Hello\n\nfrom the web");
  for (const { denied } of refused) expect(denied).toContain(`--allow-net 127.0.0.1:${trap.port} allows it`);
  expect(model.requests[1]?.raw).toContain("from the web");
  expect(trap.heads).toEqual([]);
});

test("mode plan fetches nothing", async () => {
  await using place = makePlace();
  await using site = await startSite({ "/": reply("secret") });
  await using model = await startModelServer([call("WebFetch", { url: site.url() }), say("Done.")]);
  const { events } = await exec(place, model, ["--mode", "plan", "--allow-net", `127.0.0.1:${site.port}`, "look"]);
  expect(results(events)).toMatchObject([{ ok: false, denied: "mode plan: remote" }]);
  expect(site.heads).toEqual([]);
});
