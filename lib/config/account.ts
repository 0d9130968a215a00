import { readFileSync } from "node:fs";
import { userInfo } from "node:os";

/**
 * The user's home according to the system, whatever `HOME` says (`os.userInfo` in Bun only repeats `HOME`): secrets
 * that must stay hidden may be there. Undefined where the system does not list the user.
 */
export function accountHome(list = "/etc/passwd"): string | undefined {
  const { uid } = userInfo();
  const home = readAccounts(list).find(([, , id]) => id === String(uid))?.[5];
  return home?.startsWith("/") ? home : undefined;
}

/** The homes of all accounts on this machine. */
export function accountHomes(): readonly string[] {
  const homes = readAccounts("/etc/passwd").map((fields) => fields[5] ?? "");
  return [...new Set(homes.filter((home) => home.startsWith("/")))];
}

function readAccounts(path: string): string[][] {
  try {
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.map((line) => line.split(":"));
  } catch {
    // A system without such a list names no homes.
    return [];
  }
}
