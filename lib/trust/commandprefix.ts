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
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (runners.has(name)) return undefined;
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

/** Programs that run what their arguments say: their name says nothing about a command. */
const runners: ReadonlySet<string> = new Set(
  (
    "sh bash dash zsh ksh fish env xargs sudo doas nice nohup time timeout eval exec find command builtin node python " +
    "python3 perl ruby php deno bun npx bunx uvx ssh setsid stdbuf watch parallel awk make just"
  ).split(" "),
);

/** Programs that do as many things as they have subcommands. */
const withSubcommands: ReadonlySet<string> = new Set(
  (
    "git hg jj npm pnpm yarn cargo rustup go docker podman kubectl helm gh glab pip pip3 uv poetry pdm bundle gem rake " +
    "dotnet mvn gradle terraform tofu brew apt apt-get dnf systemctl aws gcloud az fly vercel mix composer swift flutter"
  ).split(" "),
);

const isPlain = /^[\w./+-]+(?: [a-z][\w:-]*)?$/;
