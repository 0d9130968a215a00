import { writeFileSync } from "node:fs";

/** Loaded before a program, it writes the paths of all modules that the program has loaded to the file of MODULES. */
process.on("exit", () => writeFileSync(process.env.MODULES ?? "", Object.keys(require.cache).join("\n")));
