import { realpathSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { McpTransport } from "../config/config.ts";
import { unlessRefused } from "../errors.ts";
import { findProgram } from "../files/program.ts";
import { folded, isBelow } from "../files/path.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { hostTmp, isHidden, isHiddenBy } from "../sandbox/policy/reach.ts";
import type { Settings } from "./settings.ts";

type Program = Extract<McpTransport, { kind: "stdio" }>;

/** Why the sandbox does not see a server's program or one of its arguments, and what to do, if that is so. */
export function hiddenProgram(
  { command, args, cwd = "." }: Program,
  { root, env }: Pick<Settings, "root" | "env">,
  policy: Policy,
): string | undefined {
  const directory = resolve(root, cwd);
  const path = command.includes("/")
    ? command
    : findProgram(command, (env.PATH ?? "").split(":").filter(isAbsolute), []);
  const places = [path, ...args].filter((text) => text?.includes("/")).map((text = "") => resolve(directory, text));
  const hidden = places
    .map((place) => unlessRefused(() => realpathSync(place)))
    .find((real) => real !== undefined && isHidden(real, policy));
  if (hidden === undefined) return undefined;
  if (!isHiddenBy(hidden, { ...policy, hide: policy.hide.map(folded) }))
    return `"${hidden}" lies in ${isBelow(hidden, hostTmp) ? hostTmp : "/dev/shm"}, and the sandbox has another one: move it, into your home for example`;
  return `"${hidden}" is hidden in the sandbox: --allow-read "${hidden}" shows it, or move it`;
}
