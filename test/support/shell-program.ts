/**
 * One command through the Bash tool, in a process of its own: for what can only be seen from outside it. Prints the
 * result and the most memory that was ever in use.
 */
import { readFileSync } from "node:fs";
import { unconfined } from "../../lib/sandbox/backend.ts";
import { Reaper } from "../../lib/shell/reaper.ts";
import { Shell } from "../../lib/shell/shell.ts";
import { bashTool } from "../../lib/tools/bash.ts";
import { policyOf } from "./policy.ts";
import { callContext } from "./shell.ts";

const [command = "", ...flags] = process.argv.slice(2);
const reaper = flags.includes("--adopt") ? new Reaper() : undefined;

const policy = policyOf({ home: "/nowhere", project: process.cwd() });
const shell = new Shell({ backend: unconfined, policy, env: { PATH: process.env.PATH ?? "" }, reaper });
const result = await bashTool.run({ command }, { ...callContext(shell), policy });
await shell.stopAll();

const peakKb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
console.log(JSON.stringify({ result, adopts: reaper?.adopts === true, peakKb }));
