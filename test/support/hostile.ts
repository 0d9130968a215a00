import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { dirname, join } from "node:path";
import type { Line } from "../../lib/engine/event.ts";
import { checkLines, koda } from "./koda.ts";
import { call, say } from "./model-reply.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";
import { configure, makePlace, type Place } from "./place.ts";
import type { Ran } from "./run.ts";

/** No program, file or request of a repository's may contain one of these, except the key of the user's own provider. */
export const secrets = {
  key: "sk-own-5b0c2f71a94e",
  otherKey: "sk-other-c81d77e0b2",
  variable: "variable-canary-93af1",
  file: "file-canary-2e7d60c4",
} as const;

/** A line that no model reads unless the repository's own files are used. */
export const lure = "Words of the repository";

/** A repository as somebody else might have written it, in a project of its own. */
export type Stage = Place & {
  /** The directory of the run: the project, where a row does not move it. */
  root: string;
  /** A shell command that leaves a trace, and whether it has run. */
  start: string;
  hasStarted(): boolean;
  /** A server that nobody has asked for. */
  trap: string;
  json(path: string, value: unknown): void;
  link(path: string, target: string): void;
  program(path: string, text?: string): void;
  run(...argv: string[]): void;
};

export type Repository = {
  put: (stage: Stage) => void;
  /** All of `session.start.skipped`. */
  skipped?: readonly string[];
  /** A part of what the run prints. */
  says?: string | RegExp;
  exit?: number;
  /** The command that the model runs, and calls of other tools. */
  command?: string;
  calls?: readonly (readonly [tool: string, input: unknown])[];
  /** The calls change the project. */
  changes?: true;
  prompt?: string;
  /** More of the user's own configuration. */
  user?: Record<string, unknown>;
  flags?: (stage: Stage) => readonly string[];
  env?: (stage: Stage) => Record<string, string>;
  root?: (place: Place) => string;
  /** An earlier run of the session, before the files are there. */
  isResumed?: true;
  /** The effect with --trust-project: it shows that the row can fail. */
  trusted?: (seen: Seen) => unknown;
};

export type Trap = AsyncDisposable & { url: string; heads: string[] };

/** A server that nobody should ask. */
export async function startTrap(): Promise<Trap> {
  const heads: string[] = [];
  const server: Server = createServer((request, response) => {
    heads.push(`${request.method} ${request.url}\n${request.rawHeaders.join("\n")}`);
    response.writeHead(404).end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The trap has no port.");
  const close = () => new Promise<void>((closed) => server.close(() => closed()).closeAllConnections());
  return { url: `http://127.0.0.1:${address.port}/v1`, heads, [Symbol.asyncDispose]: close };
}

/** Everything that a run did. */
export type Seen = {
  ran: Ran;
  events: readonly Line[];
  start: Extract<Line, { type: "session.start" }> | undefined;
  stage: Stage;
  server: ModelServer;
  trap: Trap;
  /** All that reached the model. */
  told: string;
};

type Stages = AsyncDisposable & { stage: Stage; server: ModelServer; trap: Trap };

/** A home with secrets and a configuration of the user's own, and the repository in its project. */
export async function stageOf(repository: Repository): Promise<Stages> {
  const place = makePlace({}, "/var/tmp");
  const trap = await startTrap();
  const { command = "true", calls = [] } = repository;
  const script = [[call("Bash", { command }), ...calls.map(([tool, input]) => call(tool, input))], say("Done.")];
  const server = await startModelServer(repository.isResumed ? [say("Hello."), ...script] : script);
  const root = repository.root?.(place) ?? place.project;
  const marker = join(root, "started");
  const write = (path: string, content: string | Uint8Array) => writeAt(join(root, path), content);
  const stage: Stage = {
    ...place,
    root,
    env: { ...place.env, OWN_KEY: secrets.key, OPENAI_API_KEY: secrets.otherKey, DEPLOY_PASSWORD: secrets.variable },
    start: `touch '${marker}'`,
    hasStarted: () => existsSync(marker),
    trap: trap.url,
    write,
    json: (path, value) => void write(path, JSON.stringify(value)),
    link: (path, target) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      symlinkSync(target, join(root, path));
    },
    program: (path, text = `touch '${marker}'`) => chmodSync(write(path, `#!/bin/sh\n${text}\n`), 0o755),
    run: (...argv) => {
      const { exitCode, stderr } = Bun.spawnSync(argv, { cwd: root, env: place.env, stderr: "pipe" });
      if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
    },
  };
  for (const path of [".ssh/id_ed25519", ".aws/credentials", ".netrc"])
    writeAt(join(place.home, path), `${secrets.file}\n`);
  mkdirSync(join(place.home, ".local/share"), { recursive: true });
  const own = { base_url: server.url, api_key_env: "OWN_KEY" };
  configure(place, { model: "own/scripted", providers: { own }, ...repository.user });
  const close = async () => {
    await Promise.all([server.close(), trap[Symbol.asyncDispose]()]);
    await place[Symbol.asyncDispose]();
  };
  return { stage, server, trap, [Symbol.asyncDispose]: close };
}

function writeAt(path: string, content: string | Uint8Array): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** `koda exec` in the repository, as the user starts it there. */
export async function execIn(stages: Stages, repository: Repository, flags: readonly string[] = []): Promise<Seen> {
  const { stage, server } = stages;
  const { prompt = "go", isResumed } = repository;
  const words = ["exec", "--output", "jsonl", ...(repository.flags?.(stage) ?? []), ...flags];
  const args = isResumed ? [...words, "--last", prompt] : [...words, prompt];
  const options = { cwd: stage.root, env: repository.env?.(stage) ?? {} };
  const ran = await koda(stage, args, options);
  const { events } = checkLines(ran);
  const start = events.find((event) => event.type === "session.start");
  return { ...stages, ran, events, start, told: server.requests.map(({ raw }) => raw).join("\n") };
}

/** Lets only so many work at once: tests that are started together are more than processors. */
export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(free: number) {
    this.#free = free;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((turn) => this.#waiting.push(turn));
    else this.#free--;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

/** The files below a directory as they are, but for koda's own data. */
export function filesBelow(directory: string): Record<string, string> {
  const names = readdirSync(directory, { encoding: "buffer" });
  return Object.fromEntries(
    names.flatMap((name) => {
      const path = join(directory, name.toString("latin1"));
      if (path.endsWith("/.local/share/koda")) return [];
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (stats?.isDirectory()) return [[path, String(stats.mode)], ...Object.entries(filesBelow(path))];
      if (stats?.isSymbolicLink()) return [[path, readlinkSync(path)]];
      const isSmall = stats?.isFile() && stats.size < 8 * 1024 * 1024;
      return [[path, `${stats?.mode} ${isSmall ? Bun.hash(readFileSync(path)) : stats?.size}`]];
    }),
  );
}
