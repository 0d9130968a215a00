import { type CallToolResult, type Client, type RequestOptions, specTypeSchemas } from "./client.ts";

type CallParams = { name: string; arguments: Record<string, unknown>; task: { ttl: number } };

/** Calls a tool that runs only as a task: the call begins it, and its result is asked for at once. */
export async function callAsTask(client: Client, params: CallParams, options: RequestOptions): Promise<CallToolResult> {
  const begin = { method: "tools/call", params };
  const { task } = await client.request(begin, specTypeSchemas.CreateTaskResult, options);
  const about = { taskId: task.taskId };
  try {
    return await client.request({ method: "tasks/result", params: about }, specTypeSchemas.CallToolResult, options);
  } catch (error) {
    // The result is not wanted any more. A server that is not told keeps the task until its time is over.
    client.request({ method: "tasks/cancel", params: about }, specTypeSchemas.Result).catch(() => undefined);
    throw error;
  }
}
