import type { Claim } from "../tools/tool.ts";

/** A verdict, not a question: whoever builds the gate decides whether a human is asked before it answers. */
export type Verdict = { allow: true } | { allow: false; rule: string };

export type Gate = (call: { tool: string; claim: Claim }) => Verdict | Promise<Verdict>;
