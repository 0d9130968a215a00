import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

/**
 * An MCP server that does what a test tells it: `mcp-program.ts PLAN`, where PLAN is JSON. It speaks the protocol by
 * hand, so that it can also speak it badly.
 */
export type McpPlan = {
  /** Milliseconds until it answers at all. */
  late?: number;
  instructions?: string;
  tools?: readonly McpTool[];
  /** Tools that take the place of `tools` when the tool `grow` was called. */
  grown?: readonly McpTool[];
  /** Tools on a page of the list. */
  page?: number;
  resources?: Readonly<Record<string, string>>;
  prompts?: Readonly<Record<string, string>>;
  /** Every message that comes in is written to this file. */
  log?: string;
  /** Printed before anything else, as it is. */
  noise?: string;
  /** Exits at once with this code, after `noise` on stderr. */
  exits?: number;
  /** Answers nothing at all. */
  silent?: true;
};

export type McpTool = {
  name: string;
  description?: string;
  inputSchema?: unknown;
  outputSchema?: unknown;
  annotations?: unknown;
  /** The result as it is sent. `$env`, `$cwd`, `$args`: the text is replaced by these. */
  result?: unknown;
  does?: "echo" | "hang" | "die" | "flood" | "huge" | "grow" | "elicit" | "roots" | "progress" | "run";
};

const plan: McpPlan = JSON.parse(process.argv[2] ?? "{}");
let tools = plan.tools ?? [];
let requests = 0;
const waiting = new Map<unknown, (result: unknown) => void>();

const send = (message: unknown) =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...(message as object) })}\n`);
const text = (value: unknown) => ({
  content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }],
});

async function askClient(method: string, params: unknown): Promise<unknown> {
  const id = `server-${++requests}`;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  waiting.set(id, resolve);
  send({ id, method, params });
  return promise;
}

type Call = { name: string; arguments?: { command?: string }; _meta?: { progressToken?: unknown } };

async function callTool({ name, arguments: input = {}, _meta }: Call): Promise<unknown> {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  switch (tool.does) {
    case "echo":
      return text(input);
    case "hang":
      return new Promise(() => {});
    case "die":
      process.stderr.write("out of cheese\n");
      process.exit(3);
    case "flood":
      for (let n = 0; n < 20_000; n++)
        send({ method: "notifications/message", params: { level: "info", data: "x".repeat(200) } });
      return text("flooded");
    case "huge":
      return text("x".repeat(50 * 2 ** 20));
    case "grow":
      tools = plan.grown ?? tools;
      send({ method: "notifications/tools/list_changed" });
      return text("grown");
    case "elicit":
      return text(
        await askClient("elicitation/create", {
          message: "Your name?",
          requestedSchema: { type: "object", properties: {} },
        }),
      );
    case "roots":
      return text(await askClient("roots/list", {}));
    case "progress":
      for (const progress of [1, 2])
        send({
          method: "notifications/progress",
          params: { progressToken: _meta?.progressToken, progress, total: 2, message: `step ${progress}` },
        });
      return text("done");
    case "run": {
      const child = Bun.spawn(["sh", "-c", input.command ?? ""], { stdout: "pipe", stderr: "pipe" });
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return text(stdout + stderr);
    }
    default:
      return tool.result ?? text({ env: process.env, cwd: process.cwd() });
  }
}

function listTools(cursor: string | undefined): unknown {
  const all = tools.map((tool) => ({ inputSchema: { type: "object" }, ...tool, result: undefined, does: undefined }));
  if (plan.page === undefined) return { tools: all };
  const from = Number(cursor ?? 0);
  const next = from + plan.page;
  return { tools: all.slice(from, next), ...(next < all.length && { nextCursor: String(next) }) };
}

type Params = Call & { protocolVersion?: string; cursor?: string; uri?: string; arguments?: { who?: string } };

async function answer(method: string, params: Params): Promise<unknown> {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        serverInfo: { name: "scripted", version: "1" },
        capabilities: {
          tools: { listChanged: true },
          ...(plan.resources && { resources: {} }),
          ...(plan.prompts && { prompts: {} }),
        },
        ...(plan.instructions !== undefined && { instructions: plan.instructions }),
      };
    case "tools/list":
      return listTools(params?.cursor);
    case "tools/call":
      return callTool(params);
    case "resources/list":
      return { resources: Object.keys(plan.resources ?? {}).map((uri) => ({ uri, name: uri })) };
    case "resources/templates/list":
      return { resourceTemplates: [] };
    case "resources/read":
      return { contents: [{ uri: params.uri, text: plan.resources?.[params.uri ?? ""] }] };
    case "prompts/list":
      return { prompts: Object.keys(plan.prompts ?? {}).map((name) => ({ name, arguments: [{ name: "who" }] })) };
    case "prompts/get":
      return {
        messages: [
          {
            role: "user",
            content: { type: "text", text: `${plan.prompts?.[params.name]} ${params.arguments?.who ?? ""}` },
          },
        ],
      };
    case "ping":
      return {};
    default:
      throw Object.assign(new Error(`unknown method ${method}`), { code: -32601 });
  }
}

if (plan.exits !== undefined) {
  process.stderr.write(plan.noise ?? "");
  process.exit(plan.exits);
}
process.stdout.write(plan.noise ?? "");
if (plan.late !== undefined) await Bun.sleep(plan.late);
for await (const line of createInterface({ input: process.stdin })) {
  if (plan.log !== undefined) appendFileSync(plan.log, `${line}\n`);
  if (plan.silent) continue;
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) waiting.get(id)?.(result ?? error);
  else if (id !== undefined)
    answer(method, params).then(
      (value) => send({ id, result: value }),
      (fault) => send({ id, error: { code: fault.code ?? -32603, message: fault.message } }),
    );
}
