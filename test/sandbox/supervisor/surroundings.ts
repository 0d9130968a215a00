import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "bun:test";
import type { ConnectRules } from "../../../lib/sandbox/supervisor/rules.ts";
import { greeter, supervised } from "./supervised.ts";

export const onLinux = describe.skipIf(process.platform !== "linux");

/** How a command's socket is connected: the rules' `borrow`. */
export const ways = [
  ["on a duplicate of the command's socket", true],
  ["by a socket of koda's in its place", false],
] as const;

/** Two servers at the same port of this machine, of which commands may reach one; and two sockets. */
export async function surroundings(changes: Partial<ConnectRules> = {}) {
  const stack = new AsyncDisposableStack();
  const allowed = stack.use(greeter({ hostname: "127.0.0.1", port: 0 }, "the listed port"));
  const { port } = allowed;
  stack.use(greeter({ hostname: "127.0.0.2", port }, "another address"));
  const other = stack.use(greeter({ hostname: "127.0.0.1", port: 0 }, "another port"));
  const here = stack.use(
    await supervised(({ inside, outside }) => ({
      tcp: [{ address: "127.0.0.1", port }],
      except: [join(inside, "hidden")],
      names: [{ from: "/koda-elsewhere", to: join(outside, "renamed") }],
      ...changes,
    })),
  );
  for (const directory of ["inside/hidden", "inside/.git", "inside/sub", "outside/renamed"])
    mkdirSync(join(here.inside, "..", directory));
  for (const [path, greeting] of [
    ["inside/s", "inside"],
    ["inside/sub/s", "below"],
    ["inside/hidden/s", "hidden"],
    ["inside/.git/s", "git"],
    ["outside/s", "outside"],
  ] as const)
    stack.use(greeter({ unix: join(here.inside, "..", path) }, greeting));
  writeFileSync(join(here.inside, "file"), "");
  symlinkSync("s", join(here.inside, "link"));
  symlinkSync("../outside/s", join(here.inside, "link-out"));
  symlinkSync(join(here.outside), join(here.inside, "directory-out"));
  symlinkSync("loop", join(here.inside, "loop"));
  return { ...here, port, otherPort: other.port, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
