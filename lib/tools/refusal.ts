import { errnoOf, reasonOf } from "../errors.ts";
import { type FileKind, describeKind } from "../files/walk.ts";
import { denialText, destructiveRule, outsideRule } from "../trust/gate.ts";
import { failed, type ToolResult } from "./tool.ts";

/** A tool's own refusal, in the words of the gate: the path may lead elsewhere than when the gate saw it. */
export function deniedOutside(why: string): ToolResult {
  return denied(outsideRule(why));
}

export function deniedDestructive(why: string): ToolResult {
  return denied(destructiveRule(why));
}

/** A refusal by the rules for the network; the reason names what would allow it. */
export function deniedByEgress(why: string): ToolResult {
  return denied(`egress: ${why}`);
}

function denied(rule: string): ToolResult {
  return { ...failed(denialText(rule)), denied: rule };
}

/** The system's refusal as a result for the model; anything else is a defect and thrown again. */
export function systemFailure(what: string, error: unknown): ToolResult {
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  return failed(`${what}: ${reasons[errno] ?? reasonOf(error)}`);
}

/** Words for errors that mean that a path has changed since the gate checked it, or that it is no file. */
const reasons: Record<string, string> = {
  ENOENT: "it is not there any more",
  EEXIST: "something by that name appeared meanwhile. Look at it first.",
  ELOOP: "a symbolic link was put in its place meanwhile",
  ENOTDIR: "a directory on its path was replaced by something else meanwhile",
  ESTALE: "it was replaced by something else meanwhile. Look at it again first.",
  EBUSY: "it is in use as a mount point",
  ENXIO: "it cannot be opened as a file",
};

/** Why a file tool leaves something alone that is neither a file nor a directory, as the rest of a sentence. */
export function notAFile(kind: FileKind): string {
  return `it is ${describeKind(kind)}, and only files can be used here.`;
}
