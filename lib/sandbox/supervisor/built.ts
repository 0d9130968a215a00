/** The thread's program in a checkout; the build replaces this file by the place in the binary (embed.ts). */
export const workerUrl: string = new URL("./worker.ts", import.meta.url).href;
