import type { CommandSpec } from "../commands.ts";
import { helpFlag, json, policyFlags, serverFiles, trust } from "../flags.ts";
import * as value from "../values.ts";

export const mcpCommands = {
  "mcp add": {
    about: "Add an MCP server to your configuration",
    details:
      "The server is a program, which runs in the sandbox, or a URL that speaks streamable HTTP. It is written into " +
      "your own config.json, whose comments and formatting stay. docs/mcp.md has the other keys of a server.",
    positionals: {
      name: { value: value.newServer, about: "The name of the server: its tools are offered as NAME__TOOL" },
      command: {
        value: value.program,
        about: "A program and its arguments, run without a shell",
        optional: true,
        line: true,
      },
    },
    flags: {
      url: { value: value.serverAddress, group: "General", about: "The URL of a server over HTTP" },
      env: {
        short: "e",
        value: value.assignment,
        many: true,
        group: "General",
        about: "A variable of the program; ${VAR} in it is replaced when the server is started",
      },
      header: {
        short: "H",
        value: value.header,
        many: true,
        group: "General",
        about: "A header for each request; ${VAR} in it is replaced when the server is started",
      },
      required: { group: "General", about: "A run fails when the server does not start" },
      ...helpFlag,
    },
    exclusive: [
      ["command", "url"],
      ["env", "url"],
      ["command", "header"],
    ],
    atLeastOne: [["command", "url"]],
    examples: [
      { line: "koda mcp add memory -- npx -y @modelcontextprotocol/server-memory", about: "A program" },
      {
        line: "koda mcp add docs --url https://mcp.example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'",
        about: "A server over HTTP; the token stays in the variable",
      },
    ],
  },
  "mcp list": {
    about: "List the MCP servers that a run here would start",
    positionals: {},
    flags: { ...trust, ...serverFiles, ...json, ...helpFlag },
    examples: [
      { line: "koda mcp list", about: "Your own servers" },
      { line: "koda mcp list --trust-project", about: "And those of the project's .mcp.json" },
    ],
  },
  "mcp remove": {
    about: "Remove an MCP server from your configuration",
    positionals: { name: { value: value.server, about: "The name of the server" } },
    flags: helpFlag,
    examples: [{ line: "koda mcp remove memory", about: "Only your own config.json is changed" }],
  },
  "mcp check": {
    about: "Start the MCP servers as a run would, and say what is wrong with them",
    details: "Takes the flags of a run that decide what a server may touch. Exits with 1 when a server fails.",
    positionals: { name: { value: value.server, about: "Only this server", optional: true } },
    flags: { ...policyFlags, ...serverFiles, ...json, ...helpFlag },
    exclusive: [["bare", "trust-project"]],
    examples: [
      { line: "koda mcp check", about: "All servers, with the number of their tools" },
      { line: "koda mcp check docs --json | jq '.[0].error'", about: "One of them" },
    ],
  },
} as const satisfies Readonly<Record<string, CommandSpec>>;
