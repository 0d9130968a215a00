import { commands, type CommandName, type CommandSpec, type Example, type Positional } from "./commands.ts";
import { aboutOf, commandPath, isCommand, wordsBelow } from "./commandtree.ts";
import { environment } from "./environment.ts";
import { exits } from "./exits.ts";
import { groups, rootFlags, type Flag, type Flags } from "./flags.ts";

const narrowest = 40;
/** Longer lines are hard to read. */
const widest = 100;
const aboutColumn = 30;

type Row = { readonly name: string; readonly about: string };

/** The help page of a command, of a family of commands (`session`), or of koda itself (""). */
export function helpPage(topic: string, columns: number): string {
  const width = Math.max(narrowest, Math.min(widest, columns));
  const sections = isCommand(topic) ? commandPage(topic, width) : familyPage(topic, width);
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

function familyPage(path: string, width: number): string[] {
  const call = path === "" ? "koda" : `koda ${path}`;
  const rows = wordsBelow(path).map((word) => ({ name: word, about: aboutOf(commandPath(path, word)) }));
  return [
    wrap(path === "" ? aboutKoda : aboutOf(path), width),
    `Usage: ${call} COMMAND [FLAGS]`,
    list("Commands", rows, width),
    list("Flags", flagRows(path === "" ? rootFlags : { help: rootFlags.help }), width),
    examples(path === "" ? rootExamples : rows.flatMap(({ name }) => examplesOf(commandPath(path, name))), width),
    path === "" ? list("Environment", variables, width) : "",
    wrap(`Each command's own page: ${call} COMMAND --help`, width),
  ];
}

export const aboutKoda =
  "A coding agent for shells, scripts and CI: it works on a task until it is done, and exits with a code you can trust.";

export const rootExamples: readonly Example[] = [
  { line: "koda exec -m demo", about: "Watch the demo, without a key and a network" },
  { line: 'koda exec "make the tests pass"', about: "Do one task in this directory" },
  { line: "koda doctor", about: "Check this machine, and how to fix it" },
];

const variables: readonly Row[] = environment.map(({ names, about }) => ({ name: names.join(", "), about }));

/** The first example of a command. */
export function examplesOf(name: string): readonly Example[] {
  return isCommand(name) ? commands[name].examples.slice(0, 1) : [];
}

function commandPage(name: CommandName, width: number): string[] {
  const command: CommandSpec = commands[name];
  const positionals = Object.values(command.positionals);
  return [
    wrap(`${command.about}.`, width),
    wrap(command.details ?? "", width),
    `Usage: ${usageOf(name)}`,
    list(
      "Arguments",
      positionals.map((place) => ({ name: place.value.placeholder, about: argumentAbout(place) })),
      width,
    ),
    ...groups.map((group) => list(group, flagRows(command.flags, group), width)),
    examples(command.examples, width),
    command.runsModel === true
      ? list(
          "Exit codes",
          exits.map(([code, about]) => ({ name: String(code), about })),
          width,
        )
      : "",
  ];
}

/** `koda session prune --older-than AGE [FLAGS]` */
export function usageOf(name: CommandName): string {
  const { positionals, flags }: CommandSpec = commands[name];
  const all = Object.values(positionals);
  const line = all.find((place) => place.line);
  if (line !== undefined) {
    const before = all.filter((place) => place !== line).map(({ value }) => value.placeholder);
    const whole = `-- ${line.value.placeholder} [ARGS]`;
    return ["koda", name, ...before, "[FLAGS]", line.optional ? `[${whole}]` : whole].join(" ");
  }
  const places = all.map(({ value, optional, many }) => {
    const place = many ? `${value.placeholder} …` : value.placeholder;
    return optional ? `[${place}]` : place;
  });
  const required = Object.entries(flags).flatMap(([flag, { required, value }]) =>
    required ? [`--${flag} ${value?.placeholder ?? ""}`] : [],
  );
  return ["koda", name, ...places, ...required, "[FLAGS]"].join(" ");
}

function flagRows(flags: Flags, group?: string): Row[] {
  return Object.entries(flags)
    .filter(([, flag]) => group === undefined || flag.group === group)
    .map(([name, flag]) => ({ name: flagName(name, flag), about: flagAbout(flag) }));
}

/** `-m, --model NAME`; without a short form, the long one is indented to the same column. */
function flagName(name: string, { short, value }: Flag): string {
  const names = `${short === undefined ? "    " : `-${short}, `}--${name}`;
  return value === undefined ? names : `${names} ${value.placeholder}`;
}

export function flagAbout({ about, many, default: usual }: Flag): string {
  return `${about}${many ? "; may be repeated" : ""}${usual === undefined ? "" : ` (default: ${usual})`}`;
}

export function argumentAbout({ about, value: { choices } }: Positional): string {
  return choices === undefined ? about : `${about}: ${choices.join(", ")}`;
}

function examples(rows: readonly Example[], width: number): string {
  return section(
    "Examples",
    rows.flatMap(({ line, about }) => [...indent(wrap(`# ${about}`, width - 2), 2), `  ${line}`]),
  );
}

function list(title: string, rows: readonly Row[], width: number): string {
  return section(
    title,
    rows.flatMap((row) => layOut(row, width)),
  );
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [title, ...lines].join("\n");
}

/** The name with its explanation beside it, or below it when the name or the page leaves no room. */
function layOut({ name, about }: Row, width: number): string[] {
  const column = width < 2 * aboutColumn ? 8 : aboutColumn;
  const [first = "", ...rest] = indent(wrap(about, width - column), column);
  const start = `  ${name}`;
  return start.length + 2 > column ? [start, first, ...rest] : [start.padEnd(column) + first.trimStart(), ...rest];
}

function indent(text: string, columns: number): string[] {
  return text.split("\n").map((line) => " ".repeat(columns) + line);
}

function wrap(text: string, width: number): string {
  return Bun.wrapAnsi(text, width);
}
