import type { PermissionOption } from "@agentclientprotocol/sdk";
import type { EventOf } from "../engine/event.ts";
import type { ApprovalDecision } from "../trust/approvaldecision.ts";
import { visibleLine } from "../visible.ts";

/** A call that is asked about a second time, since a hook has rewritten it, has the id `id#2` there. */
export function callOf(id: string): string {
  return id.replace(/#\d+$/, "");
}

/** The option of a response that nothing has checked; `cancelled` when the client ends the turn instead. */
export function chosenIn(response: unknown): unknown {
  const { outcome } = (response ?? {}) as { outcome?: { outcome?: unknown; optionId?: unknown } | null };
  return outcome?.outcome === "selected" ? outcome.optionId : outcome?.outcome;
}

/** `abort` is the client's own cancellation. */
export function permissionOptions({ tool, host, prefix, decisions }: EventOf<"approval.request">): PermissionOption[] {
  const what = host === undefined ? tool : visibleLine(host);
  const offered: Partial<Record<ApprovalDecision, Omit<PermissionOption, "optionId">>> = {
    once: { kind: "allow_once", name: "Allow" },
    session: { kind: "allow_always", name: `Allow ${what} in this session` },
    prefix: { kind: "allow_always", name: `Always allow ${visibleLine(prefix ?? "")}` },
    deny: { kind: "reject_once", name: "Deny" },
  };
  return decisions.flatMap((decision) => {
    const option = offered[decision];
    return option === undefined ? [] : [{ optionId: decision, ...option }];
  });
}
