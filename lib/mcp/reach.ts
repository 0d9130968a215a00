import { authorityOf } from "../egress/rules/authority.ts";
import type { HostPort } from "../egress/rules/host.ts";
import { parsePattern } from "../egress/rules/pattern.ts";
import type { WayOut } from "../egress/wayout.ts";

/**
 * The way to a server that the user has named: that allows this one address, for koda's own connection and not for
 * those of commands. A denial and `--net none` still refuse it.
 */
export function reaching(target: HostPort, egress: WayOut): WayOut {
  const { port } = target;
  // The name of this machine leads to addresses that need a rule of their own.
  const hosts = target.host.text === "localhost" ? ["localhost", "127.0.0.1", "[::1]"] : undefined;
  const texts = hosts?.map((host) => `${host}:${port}`) ?? [authorityOf(target)];
  const patterns = texts.map((text) => parsePattern(text, { wide: false }));
  const allow = patterns.flatMap((pattern) => ("fault" in pattern ? [] : [pattern]));
  return { ...egress, rules: { ...egress.rules, allow: [...egress.rules.allow, ...allow] } };
}
