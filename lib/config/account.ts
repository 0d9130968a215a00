import { readFileSync } from "node:fs";
import { userInfo } from "node:os";

/**
 * The home that the system knows for the user who runs koda, whatever `HOME` says (which is all that `os.userInfo`
 * says in Bun): the keys that must stay hidden may lie there. Undefined where the system's list does not name the user.
 */
export function accountHome(list = "/etc/passwd"): string | undefined {
  const { uid, username } = userInfo();
  if (process.platform === "darwin") return username === "root" ? "/var/root" : `/Users/${username}`;
  const entries = readList(list).map((line) => line.split(":"));
  const home = entries.find(([, , id]) => id === String(uid))?.[5];
  return home?.startsWith("/") ? home : undefined;
}

/** The homes of all accounts that the system's list names. */
export function accountHomes(list = "/etc/passwd"): readonly string[] {
  const homes = readList(list).map((line) => line.split(":")[5] ?? "");
  return [...new Set(homes.filter((home) => home.startsWith("/")))];
}

function readList(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    // A system that keeps no such list has no other home to tell of.
    return [];
  }
}
