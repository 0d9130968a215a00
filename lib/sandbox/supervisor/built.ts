/** Where the thread's program lies in a checkout; in the binary it lies elsewhere (see embed.ts, which replaces this file there). */
export const workerUrl: string = new URL("./worker.ts", import.meta.url).href;
