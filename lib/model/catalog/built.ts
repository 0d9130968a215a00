import { compactCatalog } from "./compact.ts";

/** The catalog in a checkout; the build replaces this file by its result (embed.ts), and the package stays outside. */
export const catalogTexts = compactCatalog();
