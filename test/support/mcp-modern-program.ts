import { acceptedContent, createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

/** A server that knows no `initialize`: the protocol of 2026, by its authors' own library. Over HTTP it prints its port. */
function makeServer(): McpServer {
  const server = new McpServer({ name: "modern", version: "1" }, { instructions: "Be brief." });
  server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
    content: [{ type: "text", text }],
  }));
  const person = z.object({ name: z.string() });
  server.registerTool("greet", {}, ({ mcpReq }) => {
    const { name } = acceptedContent(mcpReq.inputResponses, "who", person) ?? {};
    const who = inputRequired.elicit({ message: "Your name?", requestedSchema: person });
    if (name === undefined && mcpReq.inputResponses === undefined) return inputRequired({ inputRequests: { who } });
    return { content: [{ type: "text", text: `Hello, ${name ?? "whoever you are"}` }] };
  });
  server.registerTool("grow", {}, () => {
    server.registerTool("grown", {}, () => ({ content: [{ type: "text", text: "grown" }] }));
    return { content: [{ type: "text", text: "grows" }] };
  });
  return server;
}

if (process.argv[2] === "http") {
  const { fetch } = createMcpHandler(makeServer, { legacy: "reject" });
  console.log(Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: async (request) => fetch(request) }).port);
} else serveStdio(makeServer, { legacy: "reject" });
