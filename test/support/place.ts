import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** A home and a project that belong to one test alone, and are gone after it. */
export type Place = AsyncDisposable & {
  home: string;
  project: string;
  /** The whole environment of the programs that a test starts here. */
  env: Record<string, string>;
  /** Puts a file into the project; returns its path. */
  write(path: string, content: string | Uint8Array): string;
};

/** Where commands find another `/tmp` than the host's, a test that looks at the host's lies elsewhere. */
export function makePlace(files: Record<string, string | Uint8Array> = {}, under: string = tmpdir()): Place {
  const base = realpathSync(mkdtempSync(join(under, "koda-test-")));
  const [home, project, temporary] = [join(base, "home"), join(base, "project"), join(base, "tmp")];
  for (const directory of [home, project, temporary]) mkdirSync(directory);

  const place: Place = {
    home,
    project,
    env: { HOME: home, TMPDIR: temporary, PATH: process.env.PATH ?? "/usr/bin:/bin", LANG: "C.UTF-8" },
    write(path, content) {
      const target = join(project, path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, content);
      return target;
    },
    async [Symbol.asyncDispose]() {
      rmSync(base, { recursive: true, force: true });
    },
  };
  for (const [path, content] of Object.entries(files)) place.write(path, content);
  return place;
}

/** Writes the user's configuration, as text or as a value; returns its path. */
export function configure({ home }: Pick<Place, "home">, config: unknown): string {
  const path = join(home, ".config/koda/config.json");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof config === "string" ? config : JSON.stringify(withPrograms(config)));
  return path;
}

/** MCP servers of tests are programs of this tree, which may lie in a temporary directory that the sandbox hides. */
function withPrograms(config: unknown): unknown {
  if (typeof config !== "object" || config === null || !("mcp" in config)) return config;
  const { sandbox = {} } = config as { sandbox?: { read?: readonly string[] } };
  return { ...config, sandbox: { ...sandbox, read: [...(sandbox.read ?? []), tree] } };
}

/** The root of this tree. */
export const tree = resolve(import.meta.dir, "../..");
