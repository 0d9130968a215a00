import { expect, test } from "bun:test";
import { ToolCatalog } from "../../lib/conversation/toolcatalog.ts";
import type { Offer } from "../../lib/mcp/servers.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { tool } from "../support/conversation.ts";

/** Servers that offer other tools each time they are asked. */
function offering(...offers: (readonly Tool[])[]) {
  let next = 0;
  const offerOf = (tools: readonly Tool[]): Offer => ({ tools, counts: new Map(), listed: (all) => all });
  return { offer: async () => offerOf(offers[Math.min(next++, offers.length - 1)] ?? []) };
}

const [a, b, c] = ["a", "b", "c"].map((name) => tool(name, () => undefined)) as [Tool, Tool, Tool];
const choose = ({ tools }: Offer) => tools;
const namesIn = ({ current }: ToolCatalog) => current.tools.map(({ name }) => name);

test("tools come and go only when the catalog advances, and one that was taken stays as it was", async () => {
  const catalog = await ToolCatalog.open({ builtIn: [a], servers: offering([b], [c]), choose });
  const taken = catalog.current;
  expect(namesIn(catalog)).toEqual(["a", "b"]);
  expect(await catalog.advance()).toEqual({ added: ["c"], removed: ["b"] });
  expect(namesIn(catalog)).toEqual(["a", "c"]);
  expect(taken.tools).toEqual([a, b]);
  expect(taken.definitions.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("what the model reads and what dispatch accepts are the same tools", async () => {
  const catalog = await ToolCatalog.open({ builtIn: [a], servers: offering([b], [c]), choose });
  const definitions = () => catalog.current.definitions.map(({ name }) => name);
  expect(definitions()).toEqual(namesIn(catalog));
  await catalog.advance();
  expect(definitions()).toEqual(namesIn(catalog));
});

test("two tools with one name fail the start", async () => {
  const opening = ToolCatalog.open({ builtIn: [a], servers: offering([a]), choose });
  await expect(opening).rejects.toThrow('failed to build session tool registry: two tools have the name "a"');
});

test("a conflict later leaves the catalog as it was, and does not stand in the way of the next", async () => {
  const catalog = await ToolCatalog.open({ builtIn: [a], servers: offering([b], [a], [c]), choose });
  const problem = 'tool reconfigure failed: two tools have the name "a"';
  expect(await catalog.advance()).toEqual({ added: [], removed: [], problem });
  expect(namesIn(catalog)).toEqual(["a", "b"]);
  expect(await catalog.advance()).toEqual({ added: ["c"], removed: ["b"] });
});
