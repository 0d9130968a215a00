import type { Flag } from "../flags.ts";
import type { Value } from "../values.ts";
import { shellQuoted } from "../../lib/quote.ts";
import { nodes, spellingsOf, type Node } from "./tree.ts";

/**
 * For bash 3.2 and later, without the bash-completion package. Readline splits words at `=` and `:`, so `--output=js`
 * arrives as three words, as does a model's `name:free`, and takes the part behind the `:` for the word to complete.
 */
export function bashScript(): string {
  return `# bash completion of koda; made by: koda completions bash
_koda() {
  local at=$COMP_CWORD current="\${COMP_WORDS[COMP_CWORD]}" head="" flag path="" place=1 line
  COMPREPLY=()
  if [[ $current == ":" ]]; then
    current=""
  elif [[ \${COMP_WORDS[at-1]} == ":" ]]; then
    ((at--))
  fi
  if [[ \${COMP_WORDS[at]} == ":" ]]; then
    ((at--))
    head="\${COMP_WORDS[at]}:"
    current="$head$current"
  fi
  flag="\${COMP_WORDS[at-1]}"
  if [[ $current == "=" ]]; then
    current=""
  elif [[ $flag == "=" ]]; then
    flag="\${COMP_WORDS[at-2]}"
  fi
  if (( COMP_CWORD > 1 )); then
    path="\${COMP_WORDS[1]}"
    place=2
    case "$path" in
${[...families(), ...lines()].join("\n")}
    esac
  fi
  case "$path:$flag" in
    ${[...fileFlags(), `*" --:"*`].join("|")}) compopt -o filenames 2>/dev/null ;;
  esac
  while IFS= read -r line; do
    COMPREPLY+=("\${line#"$head"}")
  done < <(_koda_words "$path" "$flag" "$current" "$((at - place))")
  if [[ \${#COMPREPLY[@]} -gt 1 && ( $COMP_TYPE == 63 || $COMP_TYPE == 33 ) ]]; then
    COMPREPLY=("\${COMPREPLY[@]/$'\\t'/  }")
  else
    COMPREPLY=("\${COMPREPLY[@]%%$'\\t'*}")
  fi
}

# Values that koda knows, with a tab and what each is.
_koda_offer() {
  local line
  while IFS= read -r line; do
    [[ $line == "$2"* ]] && printf '%s\\n' "$line"
  done < <("\${COMP_WORDS[0]/#\\~/$HOME}" __complete "$1" 2>/dev/null)
}

_koda_words() {
  case "$1:$2" in
${nodes().flatMap(valueCases).join("\n")}
  esac
  if [[ $3 == -* && $1 != *" --" ]]; then
    case "$1" in
${nodes().map(flagCase).join("\n")}
    esac
    return
  fi
  case "$1:$4" in
${nodes().flatMap(wordCases).join("\n")}
  esac
}

complete -F _koda koda
`;
}

/** A family's second word belongs to the path, once it is there. */
function families(): string[] {
  return nodes()
    .filter(({ path, words }) => path !== "" && path !== "help" && words.length > 0)
    .map(({ path }) => `      ${path}) if (( COMP_CWORD > 2 )); then path="${path} \${COMP_WORDS[2]}"; place=3; fi ;;`);
}

/** Behind `--` another command line begins, whose words are counted from there. */
function lines(): string[] {
  return nodes()
    .filter(({ line }) => line)
    .map(
      ({ path }) =>
        `      ${path}) for ((line = 2; line < COMP_CWORD; line++)); do [[ \${COMP_WORDS[line]} == -- ]] && path="${path} --" place=$((line + 1)) && break; done ;;`,
    );
}

/** Where names of files are offered: readline then quotes them and puts a slash behind directories. */
function fileFlags(): string[] {
  return nodes().flatMap(({ path, flags }) =>
    Object.entries(flags).flatMap(([name, flag]) => (namesFiles(flag.value) ? patternsOf(path, name, flag) : [])),
  );
}

function namesFiles(value: Value<unknown> | undefined): boolean {
  return ["file", "directory", "program"].some((kind) => kind === value?.completes);
}

function valueCases({ path, flags }: Node): string[] {
  return Object.entries(flags).flatMap(([name, flag]) => {
    if (flag.value === undefined) return [];
    return [`    ${patternsOf(path, name, flag).join("|")}) ${generate(flag.value)} return ;;`];
  });
}

function patternsOf(path: string, name: string, flag: Flag): string[] {
  return spellingsOf(name, flag).map((spelling) => shellQuoted(`${path}:${spelling}`));
}

function flagCase({ path, flags }: Node): string {
  const words = Object.keys(flags).map((name) => `--${name}`);
  return `      ${shellQuoted(path)}) compgen -W ${shellQuoted(words.join(" "))} -- "$3" ;;`;
}

function wordCases({ path, words, places, line }: Node): string[] {
  if (line) {
    const program = places.map((value) => generate(value)).join("");
    return [
      `    ${shellQuoted(`${path}:0`)}|${shellQuoted(`${path} --:0`)}) ${program} ;;`,
      `    ${shellQuoted(`${path} --`)}:*) compgen -f -- "$3" ;;`,
    ];
  }
  if (words.length > 0)
    return [
      `    ${shellQuoted(`${path}:0`)}) compgen -W ${shellQuoted(words.map(({ word }) => word).join(" "))} -- "$3" ;;`,
    ];
  return places.flatMap((value, index) =>
    generate(value) === "" ? [] : [`    ${shellQuoted(`${path}:${index}`)}) ${generate(value)} ;;`],
  );
}

function generate({ choices, completes }: Value<unknown>): string {
  if (choices !== undefined) return `compgen -W ${shellQuoted(choices.join(" "))} -- "$3";`;
  if (completes === "file") return `compgen -f -- "$3";`;
  if (completes === "directory") return `compgen -d -- "$3";`;
  if (completes === "program") return `compgen -c -- "$3";`;
  return completes === undefined ? "" : `_koda_offer ${completes} "$3";`;
}
