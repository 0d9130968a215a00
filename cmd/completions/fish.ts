import type { Flag } from "../flags.ts";
import type { Value } from "../values.ts";
import { nodes, type Node } from "./tree.ts";

/** One line a word or flag, each with the condition under which it is offered. */
export function fishScript(): string {
  return `# fish completion of koda; made by: koda completions fish

# The words before the cursor are exactly these.
function __koda_after
    set -l words (commandline -opc)
    set -e words[1]
    test "$words" = "$argv"
end

# The words before the cursor begin with these.
function __koda_in
    set -l words (commandline -opc)
    set -e words[1]
    set -l count (count $argv)
    test (count $words) -ge $count; and test "$words[1..$count]" = "$argv"
end

# The cursor is behind a --.
function __koda_behind
    contains -- -- (commandline -opc)
end

# Values that koda knows, with a tab and what each is.
function __koda_offer
    set -l words (commandline -opc)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    $program __complete $argv 2>/dev/null
end

complete -c koda -f
${nodes().flatMap(linesOf).join("\n")}
`;
}

function linesOf({ path, words, flags, places, line }: Node): string[] {
  const after = `-n ${quoted(`__koda_after ${path}`.trim())}`;
  const inside = path === "" ? after : `-n ${quoted(`__koda_in ${path}${line ? "; and not __koda_behind" : ""}`)}`;
  const behind = `-n ${quoted(`__koda_in ${path}; and __koda_behind`)}`;
  return [
    ...words.map(({ word, about }) => `complete -c koda ${after} -a ${word} -d ${quoted(about)}`),
    ...Object.entries(flags).map(([name, flag]) => `complete -c koda ${inside} ${flagOf(name, flag)}`),
    ...(line ? [`complete -c koda ${behind} -F -a '(__fish_complete_command)'`] : []),
    ...places.flatMap((value) => (action(value) === "" ? [] : [`complete -c koda ${after} ${action(value)}`])),
  ];
}

function flagOf(name: string, { short, value, about }: Flag): string {
  const names = short === undefined ? `-l ${name}` : `-s ${short} -l ${name}`;
  const takes = value === undefined ? "" : ` -r ${action(value)}`.trimEnd();
  return `${names}${takes} -d ${quoted(about)}`;
}

function action({ choices, completes }: Value<unknown>): string {
  if (choices !== undefined) return `-f -a ${quoted(choices.join(" "))}`;
  if (completes === "file") return "-F";
  if (completes === "directory") return "-f -a '(__fish_complete_directories)'";
  if (completes === "program") return "-f -a '(__fish_complete_command)'";
  return completes === undefined ? "" : `-f -k -a '(__koda_offer ${completes})'`;
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, (sign) => `\\${sign}`)}'`;
}
