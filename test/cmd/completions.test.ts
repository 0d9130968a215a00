import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { commands, type CommandSpec } from "../../cmd/commands.ts";
import { bashScript } from "../../cmd/completions/bash.ts";
import { fishScript } from "../../cmd/completions/fish.ts";
import { zshScript } from "../../cmd/completions/zsh.ts";
import { openShell } from "../support/keyboard.ts";
import { makePlace } from "../support/place.ts";

const files = { "notes.md": "", "two words.md": "", "plan.md": "" };

/** The completions of bash for a line, split into words as readline does, with the cursor after the last one. */
async function offered(words: readonly string[]): Promise<string[]> {
  await using place = makePlace(files);
  mkdirSync(join(place.project, "src"));
  place.write("koda.bash", bashScript());
  const ask = 'source koda.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _koda; printf "%s\\n" "${COMPREPLY[@]}"';
  const child = Bun.spawnSync(["bash", "-c", ask, "bash", "koda", ...words], { cwd: place.project, env: place.env });
  expect(child.stderr.toString()).toBe("");
  return child.stdout
    .toString()
    .split("\n")
    .filter((line) => line !== "");
}

const flagsOf = (command: CommandSpec) => Object.keys(command.flags).map((flag) => `--${flag}`);
const allFiles = ["koda.bash", "notes.md", "plan.md", "src", "two words.md"];

const rows: readonly [line: string, offers: string | readonly string[]][] = [
  ["", "exec chat acp review batch worker session mcp sandbox proxy models doctor upgrade completions help"],
  ["e", "exec"],
  ["--", "--help --version"],
  ["help ", "exec chat acp review batch worker session mcp sandbox proxy models doctor upgrade completions"],
  ["session ", "list show export search rollback fork rm prune"],
  ["session s", "show search"],
  ["mcp ", "add list remove check"],
  ["mcp add new -- compge", "compgen"],
  ["mcp add ", []],
  ["session list --", "--here --children --limit --json --help"],
  ["session export --format ", "markdown html jsonl atif"],
  ["session export 0199 --format h", "html"],
  ["completions ", "bash zsh fish"],
  ["completions bash ", []],
  ["exec --", flagsOf(commands.exec)],
  ["exec --out", "--output --output-last-message --output-schema"],
  ["exec --output j", "json jsonl"],
  ["exec --output =", "text json jsonl"],
  ["exec --output = json", "json jsonl"],
  ["exec --mode ", "plan safe auto"],
  ["exec -q --fail-on ", "denied incomplete no-change tool-error"],
  ["exec -f ", allFiles],
  ["exec -f two", ["two words.md"]],
  ["exec --file = n", "notes.md"],
  ["exec -C ", "src"],
  ["exec --add", []],
  ["exec --temperature ", []],
  ["exec ", []],
  ["nonsense ", []],
  ["sandbox --al", "--allow-write --allow-read --allow-git --allow-config --allow-net --allow-env"],
  ["sandbox --mode plan -- compge", "compgen"],
  ["sandbox -- cat two", ["two words.md"]],
  ["sandbox -- cat --", []],
  ["sandbox -- cat -m n", "notes.md"],
];

describe("bash offers for", () => {
  for (const [line, offers] of rows)
    test(`koda ${line}`, async () => {
      const expected = typeof offers === "string" ? offers.split(" ") : offers;
      expect((await offered(line.split(" "))).toSorted()).toEqual(expected.toSorted());
    });
});

test("in a real bash a key press completes the command, the flag's value and a name with a space", async () => {
  await using place = makePlace(files);
  place.write("rc", `${bashScript()}koda() { printf 'got'; printf ' <%s>' "$@"; echo; }\nPS1='ready> '\n`);
  await using bash = await openShell(place, ["bash", "--noprofile", "--rcfile", "rc", "-i"]);
  const shown = await bash.press("koda ex\t--mode=pl\t-f two\t\n", /got .*\r\n/);
  expect(shown).toContain("got <exec> <--mode=plan> <-f> <two words.md>\r\n");
});

describe("every word and flag is in the script of", () => {
  const scripts = { bash: bashScript(), zsh: zshScript(), fish: fishScript() };
  for (const [shell, script] of Object.entries(scripts))
    test(shell, () => {
      for (const [name, command] of Object.entries<CommandSpec>(commands)) {
        for (const word of name.split(" ")) expect(script).toContain(word);
        for (const [flag, { value }] of Object.entries(command.flags)) {
          expect(script).toContain(shell === "fish" ? `-l ${flag} ` : `--${flag}`);
          for (const choice of value?.choices ?? []) expect(script).toContain(choice);
        }
      }
    });
});
