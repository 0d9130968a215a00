/** Whether the scripted model is meant, by its short name or by the one that events and the first line show. */
export function isDemo(model: string | undefined): boolean {
  return model === "demo" || model === "demo/scripted";
}
