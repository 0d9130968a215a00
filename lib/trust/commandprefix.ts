import { parse } from "./command/parse.ts";
import { isLiteral, wordsIn } from "./command/words.ts";
import { matchesPatterns } from "./commandpattern.ts";

/**
 * The start of a command that the user may allow from now on: the program, and its subcommand if it has one. Undefined
 * for a line of several commands: its start says little about the rest.
 */
export function commandPrefix(line: string, home: string): string | undefined {
  const { commands, errors } = parse(line);
  const [statement] = commands;
  if (statement === undefined || commands.length > 1 || (errors?.length ?? 0) > 0) return undefined;
  const { command } = statement;
  if (command.type !== "Command") return undefined;
  const [program = "", next = ""] = wordsIn(command, home);
  // In another project it would be another program.
  if (program.includes("/") && !program.startsWith("/")) return undefined;
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (runners.has(name) || runners.has(name.replace(/[\d.]+$/, "")) || changers.has(name)) return undefined;
  if (withSubcommands.has(name) && (runningSubcommands.has(next) || (next === "run" && !runsScripts.has(name))))
    return undefined;
  const prefix = withSubcommands.has(name) ? `${program} ${next}` : program;
  return isPlain.test(prefix) && isLiteral(prefix) && startsWith(line, [prefix], home) ? prefix : undefined;
}

/** True when every command of a line begins with one of these. */
export function startsWith(line: string, prefixes: readonly string[], home: string): boolean {
  return (
    prefixes.length > 0 &&
    matchesPatterns(
      line,
      prefixes.map((prefix) => `${prefix}:*`),
      home,
    )
  );
}

/** Programs that run what their arguments say: their name says nothing about a command. Versions do not matter. */
const runners: ReadonlySet<string> = new Set(
  (
    "sh bash dash zsh ksh fish busybox pwsh env xargs sudo su doas nice ionice nohup time timeout flock eval exec find " +
    "fd command builtin node python pypy ipython perl ruby php lua deno bun tsx ts-node npx bunx uvx pipx pipenv hatch " +
    "conda nix nix-shell mise asdf direnv dotenv cross-env concurrently nodemon entr ssh setsid stdbuf taskset strace " +
    "gdb chroot unshare nsenter script expect tmux screen watch parallel awk gawk mawk nawk make gmake just"
  ).split(" "),
);

/** Parts of the shell that make something else of the commands after them. */
const changers: ReadonlySet<string> = new Set(
  (
    ". source cd pushd popd export declare typeset local readonly unset read mapfile readarray getopts printf alias " +
    "unalias hash enable set shopt trap"
  ).split(" "),
);

/** Subcommands that run what their arguments say, or what they set for later. */
const runningSubcommands: ReadonlySet<string> = new Set(
  "exec x dlx config alias bisect rebase submodule filter-branch difftool mergetool".split(" "),
);

/** Their `run` takes the name of a script. */
const runsScripts: ReadonlySet<string> = new Set(["npm", "pnpm", "yarn"]);

/** Programs that do as many things as they have subcommands. */
const withSubcommands: ReadonlySet<string> = new Set(
  (
    "git hg jj npm pnpm yarn cargo rustup go docker podman kubectl helm gh glab pip pip3 uv poetry pdm bundle gem rake " +
    "dotnet mvn gradle terraform tofu brew apt apt-get dnf systemctl aws gcloud az fly vercel mix composer swift flutter"
  ).split(" "),
);

const isPlain = /^[\w./+-]+(?: [a-z][\w:-]*)?$/;
