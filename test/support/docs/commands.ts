import { commands, type CommandName, type CommandSpec } from "../../../cmd/commands.ts";
import { groups, type Flag, type Flags } from "../../../cmd/flags.ts";
import { argumentAbout, flagAbout, usageOf } from "../../../cmd/help.ts";
import { code, codeBlock, tableOf } from "./markdown.ts";

const names = Object.keys(commands) as CommandName[];

export const commandParts = {
  commands: () => [overview(), ...names.map(sectionOf)].join("\n\n"),
} as const;

function overview(): string {
  return tableOf(
    ["command", ""],
    names.map((name) => [`[${code(`koda ${name}`)}](#koda-${name.replaceAll(" ", "-")})`, `${commands[name].about}.`]),
  );
}

function sectionOf(name: CommandName): string {
  const { about, details, positionals, flags, examples }: CommandSpec = commands[name];
  const places = Object.values(positionals).map((place) => [code(place.value.placeholder), `${argumentAbout(place)}.`]);
  return [
    `## koda ${name}`,
    `${about}.${details === undefined ? "" : ` ${details}`}`,
    codeBlock("text", [usageOf(name)]),
    places.length === 0 ? "" : tableOf(["argument", ""], places),
    tableOf(["flag", "", "group"], flagRows(flags)),
    codeBlock(
      "sh",
      examples.flatMap(({ line, about }) => [`# ${about}`, line]),
    ),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function flagRows(flags: Flags): string[][] {
  return groups.flatMap((group) =>
    Object.entries(flags)
      .filter(([, flag]) => flag.group === group)
      .map(([name, flag]) => [code(spelling(name, flag)), `${flagAbout(flag)}.`, group]),
  );
}

function spelling(name: string, { short, value }: Flag): string {
  const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return value === undefined ? names : `${names} ${value.placeholder}`;
}
