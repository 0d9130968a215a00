/** True for the scripted model's short name, and for its name in events and in the banner. */
export function isDemo(model: string | undefined): boolean {
  return model === "demo" || model === "demo/scripted";
}
