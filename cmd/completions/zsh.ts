import { join } from "../commandtree.ts";
import type { Flag } from "../flags.ts";
import type { Value } from "../values.ts";
import { shellQuoted } from "../../lib/quote.ts";
import { nodes, spellingsOf, type Node, type Word } from "./tree.ts";

/** One function a command, on zsh's own `_arguments` and `_describe`. */
export function zshScript(): string {
  return `#compdef koda
# zsh completion of koda; made by: koda completions zsh

# Values that koda knows, with what each is.
_koda_offer() {
  local -a offers shown
  offers=(\${(f)"$(_call_program $1 $koda_program __complete $1 2>/dev/null)"})
  local offer value
  for offer in $offers; do
    value=\${offer%%$'\\t'*}
    shown+=("\${value//:/\\\\:}\${\${offer:$#value}/$'\\t'/:}")
  done
  _describe -V -t $1 $1 shown
}

${nodes().map(functionOf).join("\n\n")}

(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
if [[ $funcstack[1] == _koda ]]; then
  _koda "$@"
else
  compdef _koda koda
fi
`;
}

function functionOf(node: Node): string {
  return node.words.length > 0 ? branch(node) : leaf(node);
}

/** Offers the words that may follow, and hands the rest of the line to the function of the one that was taken. */
function branch({ path, words, flags }: Node): string {
  const isHelp = path === "help";
  const calls = words.map(({ word }) => `    ${word}) ${nameOf(isHelp ? "" : join(path, word))} ;;`);
  return `${nameOf(path)}() {${path === "" ? "\n  local koda_program=$words[1]" : ""}
  local -a koda_words=(
${words.map((word) => `    ${described(word)}`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe -t commands command koda_words
    _arguments ${Object.entries(flags).map(flagSpec).join(" ")}
    return
  fi
  shift words
  (( CURRENT-- ))
${isHelp ? "" : `  case $words[1] in\n${calls.join("\n")}\n  esac\n`}}`;
}

function leaf({ path, flags, places, line }: Node): string {
  const specs = [
    ...places.map((value) => `'${line ? "(-)" : ""}:${escaped(value.placeholder)}:${action(value)}'`),
    ...(line ? [`'*::ARGS:_normal'`] : []),
    ...Object.entries(flags).map(flagSpec),
  ];
  return `${nameOf(path)}() {
  _arguments -s \\
    ${specs.join(" \\\n    ")}
}`;
}

/** `'(-m --model)'{-m,--model}'[The model]:NAME:'`; a flag that may come again excludes nothing. */
function flagSpec([name, flag]: [string, Flag]): string {
  const spellings = spellingsOf(name, flag);
  const taken = spellings.map((spelling) =>
    flag.value !== undefined && spelling.startsWith("--") ? `${spelling}=` : spelling,
  );
  const repeat = flag.many ? "*" : "";
  const others = flag.many ? "" : `(${spellings.join(" ")})`;
  const about = `[${escaped(flag.about)}]`;
  const value = flag.value === undefined ? "" : `:${escaped(flag.value.placeholder)}:${action(flag.value)}`;
  if (taken.length === 1) return `'${others}${repeat}${taken[0] ?? ""}${about}${value}'`;
  return `'${others}${repeat}'{${taken.join(",")}}'${about}${value}'`;
}

function action({ choices, completes }: Value<unknown>): string {
  if (choices !== undefined) return `(${choices.join(" ")})`;
  if (completes === "file") return "_files";
  if (completes === "directory") return "_files -/";
  if (completes === "program") return "_command_names -e";
  // Not a blank, which says what is expected and keeps zsh from completing a flag in its place.
  return completes === undefined ? " true" : ` _koda_offer ${completes}`;
}

function described({ word, about }: Word): string {
  return shellQuoted(`${word}:${about}`);
}

/** What `_arguments` would read as its own signs. */
function escaped(text: string): string {
  return text.replace(/[[\]:\\]/g, (sign) => `\\${sign}`).replaceAll("'", `'\\''`);
}

function nameOf(path: string): string {
  return ["_koda", ...path.split(" ")].filter((word) => word !== "").join("_");
}
