import { commands, families, type CommandName, type CommandSpec } from "../../cmd/commands.ts";
import { aboutOf, commandPath, isCommand, isFamily, wordsBelow } from "../../cmd/commandtree.ts";
import { environment } from "../../cmd/environment.ts";
import { exits } from "../../cmd/exits.ts";
import { groups, rootFlags, type Flag, type Flags } from "../../cmd/flags.ts";
import { aboutKoda, argumentAbout, examplesOf, flagAbout, rootExamples, usageOf } from "../../cmd/help.ts";
import { files } from "./userfiles.ts";
import * as roff from "./roff.ts";

/** All commands and families of commands; "" is koda itself. */
export const topics: readonly string[] = ["", ...Object.keys(families), ...Object.keys(commands)];

/** `koda-session-list` */
export function pageName(topic: string): string {
  return ["koda", ...topic.split(" ")].filter((word) => word !== "").join("-");
}

/** The page of section 1 about a command, a family of commands or koda itself. */
export function commandPage(topic: string, stamp: roff.Stamp): string {
  const sections = isCommand(topic) ? leafSections(topic) : familySections(topic);
  const name = pageName(topic);
  const about = topic === "" ? "a coding agent for shells, scripts and CI" : lowered(aboutOf(topic));
  return [
    roff.title(name, 1, stamp),
    roff.heading("Name", `${roff.literal(name)} \\- ${roff.literal(about)}`),
    ...sections,
    roff.heading("See also", seeAlso(topic)),
    "",
  ]
    .filter((section, at, all) => section !== "" || at === all.length - 1)
    .join("\n");
}

function leafSections(name: CommandName): string[] {
  const { about, details = "", positionals, flags, examples, runsModel }: CommandSpec = commands[name];
  const places = Object.values(positionals).map((place) => ({
    terms: [roff.italic(place.value.placeholder)],
    about: `${argumentAbout(place)}.`,
  }));
  return [
    synopsis(usageOf(name)),
    roff.heading("Description", roff.paragraphs(`${about}.`, details)),
    roff.heading("Arguments", roff.list(places)),
    roff.heading("Options", ...groups.map((group) => roff.subheading(group, roff.list(flagTerms(flags, group))))),
    ...(runsModel === true ? [exitStatus, environmentSection, filesSection] : [plainExitStatus(name)]),
    roff.heading("Examples", roff.shellExamples(examples)),
  ];
}

function familySections(path: string): string[] {
  const below = wordsBelow(path).map((word) => commandPath(path, word));
  const rows = below.map((topic) => ({
    terms: [roff.reference(pageName(topic), 1)],
    about: `${aboutOf(topic)}.`,
  }));
  const isRoot = path === "";
  return [
    synopsis(`${isRoot ? "koda" : `koda ${path}`} COMMAND [FLAGS]`),
    roff.heading("Description", roff.paragraphs(isRoot ? aboutKoda : `${aboutOf(path)}.`)),
    roff.heading("Commands", roff.list(rows)),
    roff.heading("Options", roff.list(flagTerms(isRoot ? rootFlags : { help: rootFlags.help }))),
    ...(isRoot ? [exitStatus, environmentSection, filesSection] : []),
    roff.heading("Examples", roff.shellExamples(isRoot ? rootExamples : below.flatMap(examplesOf))),
  ];
}

/** Words in capitals are to be replaced, the others typed as they are. */
function synopsis(usage: string): string {
  const words = usage.split(/([A-Z][A-Z|_-]*|[[\]])/).filter((word) => word !== "");
  const set = words.map((word) => {
    if (/^[A-Z]/.test(word)) return roff.italic(word);
    return /^[[\]\s]+$/.test(word) ? word : roff.bold(word);
  });
  return roff.heading("Synopsis", set.join(""));
}

function flagTerms(flags: Flags, group?: string): roff.Entry[] {
  return Object.entries(flags)
    .filter(([, flag]) => group === undefined || flag.group === group)
    .map(([name, flag]) => ({ terms: [flagTerm(name, flag)], about: `${flagAbout(flag)}.` }));
}

/** `-m, --model NAME` */
function flagTerm(name: string, { short, value }: Flag): string {
  const names = [...(short === undefined ? [] : [`-${short}`]), `--${name}`].map(roff.bold).join(", ");
  return value === undefined ? names : `${names} ${roff.italic(value.placeholder)}`;
}

const exitStatus = roff.heading(
  "Exit status",
  roff.list(exits.map(([code, about]) => ({ terms: [roff.bold(String(code))], about: `${about}.` }))),
);

const wrong = "2 when the command line or the configuration is wrong";

/** The commands that run no model. */
function plainExitStatus(name: CommandName): string {
  const own = ownExits[name];
  return roff.heading("Exit status", roff.prose(own ?? `0 when it worked, ${wrong}, else as in koda(1).`));
}

const ownExits: Partial<Record<CommandName, string>> = {
  doctor: `0 when a run would work here, 1 when it would not, ${wrong}.`,
  "mcp check": `0 when all servers work, 1 when one does not, ${wrong}.`,
  sandbox: `That of the command; 7 when the sandbox cannot be enforced, ${wrong}.`,
};

export const environmentSection = roff.heading(
  "Environment",
  roff.list(environment.map(({ names, about }) => ({ terms: [names.map(roff.bold).join(", ")], about: `${about}.` }))),
);

export const filesSection = roff.heading(
  "Files",
  roff.list(files.map(({ paths, about }) => ({ terms: paths.map(roff.italic), about: `${about}.` }))),
);

/** The pages around this one. */
function seeAlso(topic: string): string {
  const [family = ""] = topic.split(" ");
  const others = isFamily(family) ? wordsBelow(family).map((word) => commandPath(family, word)) : [];
  const pages = ["", family, ...others].filter((other, at, all) => other !== topic && all.indexOf(other) === at);
  const named = pages.map((page) => roff.reference(pageName(page), 1));
  return [...named, roff.reference("koda-config", 5)].join(",\n");
}

function lowered(sentence: string): string {
  return /^[A-Z][a-z]/.test(sentence) ? sentence.charAt(0).toLowerCase() + sentence.slice(1) : sentence;
}
