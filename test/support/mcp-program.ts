import { appendFileSync, existsSync } from "node:fs";
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
  /** The lists have no last page: each page has one entry, with a description of this length. */
  endless?: number;
  resources?: Readonly<Record<string, string>>;
  prompts?: Readonly<Record<string, string>>;
  /** Every message that comes in is written to this file. */
  log?: string;
  /** Each start adds a byte to this file. */
  starts?: string;
  /** A command that it runs before it answers. */
  begins?: string;
  /** Printed before anything else, as it is. */
  noise?: string;
  /** Exits at once with this code, after `noise` on stderr. */
  exits?: number;
  /** Answers nothing at all. */
  silent?: true;
  /** As long as it lives, it sends this line without a pause. */
  floods?: { line: string; to?: "stdout" | "stderr" };
  /** Reads nothing. */
  deaf?: true;
  /** Offers so many tools more, which do nothing. */
  many?: number;
  /** Exits when its tools have been listed. */
  brief?: true;
};

export type McpTool = {
  name: string;
  description?: string | null;
  inputSchema?: unknown;
  outputSchema?: unknown;
  annotations?: unknown;
  /** With `taskSupport` it only ever begins tasks, which do not end. */
  execution?: unknown;
  /** The length of its description, in place of one. */
  wordy?: number;
  /** The levels of its schema, in place of one. */
  deep?: number;
  /** The result as it is sent. `$env`, `$cwd`, `$args`: the text is replaced by these. */
  result?: unknown;
  does?: keyof typeof deeds;
};

const plan: McpPlan = JSON.parse(process.argv[2] ?? "{}");
let tools = plan.tools ?? [];
let requests = 0;
let isOvertaking = false;
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

type Call = { name: string; arguments?: { command?: string; ask?: unknown }; _meta?: { progressToken?: unknown } };

async function callTool({ name, arguments: input = {}, _meta }: Call, id: unknown): Promise<unknown> {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  if (tool.execution !== undefined) return { task: endlessTask };
  if (tool.does === undefined) return tool.result ?? text({ env: process.env, cwd: process.cwd() });
  return await deeds[tool.does](input, id, _meta);
}

const now = new Date().toISOString();
const endlessTask = { taskId: "task-1", status: "working", ttl: null, createdAt: now, lastUpdatedAt: now };

type Deed = (input: NonNullable<Call["arguments"]>, id: unknown, meta: Call["_meta"]) => unknown;

const anything = { message: "Your name?", requestedSchema: { type: "object", properties: {} } };

const deeds = {
  echo: (input) => text(input),
  hang: () => new Promise(() => {}),
  die() {
    process.stderr.write("out of cheese\n");
    process.exit(3);
  },
  flood() {
    for (let n = 0; n < 20_000; n++)
      send({ method: "notifications/message", params: { level: "info", data: "x".repeat(200) } });
    return text("flooded");
  },
  huge: () => text("x".repeat(50 * 2 ** 20)),
  /** JSON that is deeper than a parser's stack may be. */
  nest(_, id) {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    process.stdout.write(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"a":${deep}}}}\n`,
    );
    return new Promise(() => {});
  },
  /** Answers what was never asked, and then twice what was. */
  stray(_, id) {
    send({ id: 987_654, result: text("never asked") });
    send({ id: "x", error: { code: 1, message: "never asked" } });
    send({ id, result: text("first") });
    return text("second");
  },
  grow() {
    tools = plan.grown ?? tools;
    send({ method: "notifications/tools/list_changed" });
    return text("grown");
  },
  /** Says that its tools have changed; they change once more while that list is on its way. */
  overtake() {
    isOvertaking = true;
    send({ method: "notifications/tools/list_changed" });
    return text("changed");
  },
  /** The result is the user's answer. */
  async elicit({ ask }) {
    return text(await askClient("elicitation/create", ask ?? anything));
  },
  /** Says that a page has to be visited before. */
  require({ ask }) {
    throw Object.assign(new Error("Sign in first"), { code: -32042, data: { elicitations: [ask] } });
  },
  /** Asks, and does not wait for the answer. */
  drop({ ask }) {
    void askClient("elicitation/create", ask ?? anything);
    return text("dropped");
  },
  /** Takes its question back as soon as there is a file `now`. */
  async withdraw({ ask }) {
    void askClient("elicitation/create", ask ?? anything);
    while (!existsSync("now")) await Bun.sleep(5);
    send({ method: "notifications/cancelled", params: { requestId: `server-${requests}` } });
    return text("withdrawn");
  },
  roots: async () => text(await askClient("roots/list", {})),
  progress(_, _id, meta) {
    for (const progress of [1, 2])
      send({
        method: "notifications/progress",
        params: { progressToken: meta?.progressToken, progress, total: 2, message: `step ${progress}` },
      });
    return text("done");
  },
  /** Tells of progress 20,000 times. */
  async babble(_, _id, meta) {
    const params = { progressToken: meta?.progressToken, progress: 1, message: "x".repeat(100) };
    const piece = `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n`.repeat(500);
    for (let pieces = 0; pieces < 8; pieces++) await new Promise((written) => process.stdout.write(piece, written));
    return text("done");
  },
  async run({ command = "" }) {
    const child = Bun.spawn(["sh", "-c", command], { stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return text(stdout + stderr);
  },
} satisfies Record<string, Deed>;

/** Longer than koda waits for further changes: another list would be there before this one. */
async function overtakenList(): Promise<unknown> {
  isOvertaking = false;
  const old = listTools(undefined);
  deeds.grow();
  await Bun.sleep(400);
  return old;
}

/** A page after which there is always another. */
function endlessPage(cursor = "0"): { name: string; description: string; next: { nextCursor: string } } {
  return {
    name: `page-${cursor}`,
    description: "x".repeat(plan.endless ?? 0),
    next: { nextCursor: `${Number(cursor) + 1}` },
  };
}

function listTools(cursor: string | undefined): unknown {
  if (plan.endless !== undefined) {
    const { name, description, next } = endlessPage(cursor);
    return { tools: [{ name, description, inputSchema: { type: "object" } }], ...next };
  }
  const more = Array.from({ length: plan.many ?? 0 }, (_, index): McpTool => ({ name: `more-${index}` }));
  const all = [...tools, ...more].map((tool) => ({
    inputSchema: { type: "object" },
    ...tool,
    ...(tool.wordy !== undefined && { description: "x".repeat(tool.wordy) }),
    ...(tool.deep !== undefined && { inputSchema: nestedSchema(tool.deep) }),
    result: undefined,
    does: undefined,
  }));
  if (plan.brief) setTimeout(() => process.exit(4), 50);
  if (plan.page === undefined) return { tools: all };
  const from = Number(cursor ?? 0);
  const next = from + plan.page;
  return { tools: all.slice(from, next), ...(next < all.length && { nextCursor: String(next) }) };
}

function nestedSchema(levels: number): unknown {
  let schema: unknown = { type: "object" };
  for (let level = 1; level < levels; level++) schema = { type: "object", properties: { a: schema } };
  return schema;
}

/** Reads and answers between two pieces. */
async function flood({ line, to = "stdout" }: NonNullable<McpPlan["floods"]>): Promise<never> {
  const piece = `${line}\n`.repeat(Math.ceil(65_536 / line.length));
  while (true) {
    await new Promise((written) => process[to].write(piece, written));
    await new Promise(setImmediate);
  }
}

type Params = Call & { protocolVersion?: string; cursor?: string; uri?: string; arguments?: { who?: string } };

async function answer(method: string, params: Params, id: unknown): Promise<unknown> {
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
      return isOvertaking ? overtakenList() : listTools(params?.cursor);
    case "tools/call":
      return callTool(params, id);
    case "tasks/result":
      return new Promise(() => {});
    case "tasks/cancel":
      return { ...endlessTask, status: "cancelled" };
    case "resources/list":
      if (plan.endless !== undefined) {
        const { next, ...resource } = endlessPage(params?.cursor);
        return { resources: [{ uri: `test://${resource.name}`, ...resource }], ...next };
      }
      return { resources: Object.keys(plan.resources ?? {}).map((uri) => ({ uri, name: uri })) };
    case "resources/templates/list":
      return { resourceTemplates: [] };
    case "resources/read":
      return { contents: [{ uri: params.uri, text: plan.resources?.[params.uri ?? ""] }] };
    case "prompts/list":
      if (plan.endless !== undefined) {
        const { next, ...prompt } = endlessPage(params?.cursor);
        return { prompts: [prompt], ...next };
      }
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

if (plan.begins !== undefined) await Bun.spawn(["sh", "-c", plan.begins]).exited;
if (plan.starts !== undefined) appendFileSync(plan.starts, ".");
if (plan.exits !== undefined) {
  process.stderr.write(plan.noise ?? "");
  process.exit(plan.exits);
}
process.stdout.write(plan.noise ?? "");
if (plan.late !== undefined) await Bun.sleep(plan.late);
if (plan.floods !== undefined) void flood(plan.floods);
if (plan.deaf) await new Promise(() => {});
for await (const line of createInterface({ input: process.stdin })) {
  if (plan.log !== undefined) appendFileSync(plan.log, `${line}\n`);
  if (plan.silent) continue;
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) waiting.get(id)?.(result ?? error);
  else if (id !== undefined)
    answer(method, params, id).then(
      (value) => send({ id, result: value }),
      (fault) => send({ id, error: { code: fault.code ?? -32603, message: fault.message, data: fault.data } }),
    );
}
