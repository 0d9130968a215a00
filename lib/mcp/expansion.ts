import { expandVariables } from "../config/mask.ts";
import type { Env } from "../config/paths.ts";
import { KodaError } from "../errors.ts";
import { shortestSecret, isNamedSecret } from "../shell/env.ts";
import type { JSONRPCMessage } from "./client.ts";

/** The variables in a server's configuration, replaced by their values. */
export type Expansion = {
  /** `isSecret`: no message and no result may repeat the text, nor the value of a variable whose name says so. */
  text(template: string, options?: { isSecret: boolean }): string;
  readonly secrets: Secrets;
};

export function expansionFor(server: string, env: Env): Expansion {
  const secrets = new Secrets();
  return {
    secrets,
    text(template, { isSecret } = { isSecret: false }) {
      const text = expandVariables(template, (variable, fallback) => {
        const value = env[variable] || fallback;
        if (value === undefined) throw missing(server, variable);
        if (isNamedSecret(variable)) secrets.add(value);
        return value;
      });
      if (isSecret) secrets.add(text);
      return text;
    },
  };
}

function missing(server: string, variable: string): KodaError {
  return new KodaError(
    "config",
    `Cannot start the MCP server "${server}": the environment variable ${variable} is not set (\${${variable}:-DEFAULT} gives a default)`,
  );
}

/** Texts that a server knows and may repeat. */
export class Secrets {
  /** The longest first: one may be a part of another. */
  #texts: readonly string[] = [];

  add(text: string): void {
    const secret = text.trim().replace(/^(?:Bearer|Basic|Token) /i, "");
    if (secret.length < shortestSecret || this.#texts.includes(secret)) return;
    this.#texts = [...this.#texts, secret].toSorted((a, b) => b.length - a.length);
  }

  get texts(): readonly string[] {
    return this.#texts;
  }

  /** Replaces them in all texts of a message, which may be nested deeper than a function may call itself. */
  mask<T extends JSONRPCMessage>(message: T): T {
    if (this.#texts.length === 0) return message;
    const waiting: Holder[] = [message as unknown as Holder];
    for (let holder = waiting.pop(); holder !== undefined; holder = waiting.pop())
      for (const [key, value] of Object.entries(holder))
        if (typeof value === "string") holder[key] = this.hide(value);
        else if (typeof value === "object" && value !== null) waiting.push(value as Holder);
    return message;
  }

  /** A text without them. */
  hide(text: string): string {
    return this.#texts.reduce((rest, secret) => rest.replaceAll(secret, "[key]"), text);
  }
}

/** An object or an array of a message. */
type Holder = Record<string, unknown>;
