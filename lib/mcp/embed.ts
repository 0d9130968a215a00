import type { BunPlugin } from "bun";

/**
 * For the build only: leaves ajv out of the binary. The library brings it for clients that choose no validator;
 * client.ts chooses one that compiles no code.
 */
export function embedMcp(): BunPlugin {
  return {
    name: "embed-mcp",
    setup: (build) =>
      void build.onLoad({ filter: /\/@modelcontextprotocol\/client\/dist\/shimsNode\.mjs$/ }, () => ({
        contents: shims,
      })),
  };
}

const shims = `const [validator, corsIsPossible] = [undefined, false];
export { validator as DefaultJsonSchemaValidator, corsIsPossible as CORS_IS_POSSIBLE };`;
