import type { Provider } from "./providers.ts";

export const demoProvider: Provider = { name: "demo", baseUrl: "http://demo.invalid/v1", keys: [], wire: "chat" };
