import { constants } from "node:os";
import { close, hold, nowhere, readLink } from "./calls.ts";
import { bytewise, readable } from "./decide.ts";
import { placeOf } from "./names.ts";
import type { ConnectRules } from "./rules.ts";

const { EACCES, ELOOP, ENAMETOOLONG, ENOENT } = constants.errno;

/**
 * The end of a path: a file that is held, by its real path on the host, or an error, with the real path of what could
 * not be reached. The caller closes a held file.
 */
type Located = { held: number; real: string } | { errno: number; real: string };

type View = Pick<ConnectRules, "names" | "sockets"> & {
  /** The thread whose view it is: for it /proc/self is its own. */
  pid: number;
};

/** As many as Linux allows. */
const mostLinks = 40;
/** Far more than a path to a socket has: a command makes trees of any depth, and each directory on the way is held. */
const [mostNames, mostDepth] = [2000, 200] as const;

/**
 * Follows an absolute path as the kernel does for a command that sees some directories by other names. Each name is
 * looked up in a directory that is held, so that what is put in its place meanwhile changes nothing; and what is told
 * as the real path is that of the file held in the end.
 */
export function locate(path: string, view: View): Located {
  using walk = new Walk(view);
  const pending = path.split("/").reverse();
  let links = 0;
  let names = 0;
  const fail = (errno: number, name: string) => ({
    errno,
    real: [walk.real(), name, ...pending.toReversed()].join("/"),
  });

  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === "" || name === ".") continue;
    if (++names > mostNames) return fail(ENAMETOOLONG, name);
    if (name === "..") {
      walk.leave();
      continue;
    }
    const next = walk.look(name);
    if (next < 0) return fail(-next, name);
    const target = readLink(next);
    if (target === undefined) {
      if (!walk.enter(name, next)) return fail(ENAMETOOLONG, name);
      continue;
    }
    close(next);
    if (++links > mostLinks) return fail(ELOOP, name);
    if (target.startsWith("/")) walk.restart();
    pending.push(...target.split("/").reverse());
  }
  return walk.end();
}

/** The directories from the command's root to where it has come, each held. */
class Walk implements Disposable {
  readonly #view: View;
  readonly #steps: { name: string; held: number }[] = [];
  readonly #root: number;

  constructor(view: View) {
    this.#view = view;
    this.#root = hold(nowhere, "/");
  }

  /** Takes hold of what the command finds by a name where it is; a negative errno when there is nothing to find. */
  look(name: string): number {
    const here = this.#path();
    // A command may look into its own process alone, and /proc/self would be koda's.
    if (here === "/proc")
      return name === "self" || name === "thread-self" ? hold(nowhere, `/proc/${this.#view.pid}`) : -EACCES;
    const elsewhere = placeOf(readable(`${here === "/" ? "" : here}/${name}`), this.#view);
    return elsewhere === undefined ? hold(this.#here, name) : hold(nowhere, bytewise(elsewhere));
  }

  enter(name: string, held: number): boolean {
    this.#steps.push({ name, held });
    return this.#steps.length <= mostDepth;
  }

  leave(): void {
    const last = this.#steps.pop();
    if (last !== undefined) close(last.held);
  }

  restart(): void {
    while (this.#steps.length > 0) this.leave();
  }

  /** The path on the host of where it is. */
  real(): string {
    const path = readLink(nowhere, `/proc/self/fd/${this.#here}`) ?? "";
    return path === "/" ? "" : path;
  }

  /** The located file outlives the walk. */
  end(): Located {
    const last = this.#steps.pop();
    if (last === undefined) return { errno: EACCES, real: "/" };
    const real = readLink(nowhere, `/proc/self/fd/${last.held}`);
    if (real !== undefined) return { held: last.held, real };
    close(last.held);
    return { errno: ENOENT, real: "" };
  }

  [Symbol.dispose](): void {
    this.restart();
    close(this.#root);
  }

  get #here(): number {
    return this.#steps.at(-1)?.held ?? this.#root;
  }

  /** As the command sees it. */
  #path(): string {
    return `/${this.#steps.map(({ name }) => name).join("/")}`;
  }
}
