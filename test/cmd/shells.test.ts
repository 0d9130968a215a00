import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../../cmd/commands.ts";
import { openStore } from "../../lib/session/store.ts";
import { isMissing, openShell, withKoda } from "../support/keyboard.ts";
import { koda } from "../support/koda.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { start, user } from "../support/sessions.ts";

const files = { "notes.md": "", "xylophone.md": "" };
const database = (place: Place) => join(place.home, ".local/share/koda/koda.db");

/** A session called `id`, and the title that its first prompt gives it. */
function addSession(place: Place, id: string, title: string): void {
  mkdirSync(join(place.home, ".local/share/koda"), { recursive: true });
  const store = openStore(database(place));
  const session = store.create({ ...start, id });
  session.append(user(title));
  session.close();
  store.close();
}

/** Lines, and their completions in each shell. */
const whole: readonly [line: string, completed: string][] = [
  ["koda exe", "koda exec"],
  ["koda exec --mode pl", "koda exec --mode plan"],
  ["koda session sh", "koda session show"],
  ["koda session export --format ht", "koda session export --format html"],
  ["koda exec -q --ephem", "koda exec -q --ephemeral"],
  ["koda exec -f xyl", "koda exec -f xylophone.md"],
  ["koda sandbox -- cat xyl", "koda sandbox -- cat xylophone.md"],
  ["koda exec --allow-tool WebF", "koda exec --allow-tool WebFetch"],
  ["koda exec -m corp/sm", "koda exec -m corp/small"],
  ["koda exec -m dem", "koda exec -m demo"],
  ["koda exec --resume sec", "koda exec --resume second"],
  ["koda exec --fork sec", "koda exec --fork second"],
  ["koda session show fir", "koda session show first"],
  ["koda session rm fir", "koda session rm first"],
];

/** The line as a key makes the shell show it, in marks that no control sequence and no completion has. */
const lineShown = /line<(.*)>/;

const known = { context_window: 32_000 };

function furnished(): Place {
  const place = makePlace(files);
  addSession(place, "first", "Fix: the login page");
  addSession(place, "second", "Write the changelog");
  const models = { small: known, "big:latest": known, "big:old": known };
  configure(place, { providers: { corp: { base_url: "http://127.0.0.1:9/v1", models } } });
  return place;
}

describe.skipIf(isMissing("fish"))("fish", () => {
  function offered(place: Place, line: string): string[] {
    const script = "koda completions fish | source; complete -C $argv[1]";
    const child = Bun.spawnSync(["fish", "--no-config", "-c", script, line], {
      cwd: place.project,
      env: withKoda(place),
    });
    expect(child.stderr.toString()).toBe("");
    return child.stdout
      .toString()
      .split("\n")
      .filter((offer) => offer !== "");
  }

  test("completes every kind of word", async () => {
    await using place = furnished();
    for (const [line, completed] of whole) {
      const [offer = "", ...others] = offered(place, line).filter((found) =>
        found.startsWith(line.split(" ").at(-1) ?? ""),
      );
      expect([line, others]).toEqual([line, []]);
      expect(completed).toEndWith(` ${offer.split("\t")[0]}`);
    }
  });

  test("offers flags and values behind other flags, and sessions with their titles", async () => {
    await using place = furnished();
    const flags = offered(place, "koda exec -q --").map((offer) => offer.split("\t")[0]);
    expect(flags).toEqual(expect.arrayContaining(Object.keys(commands.exec.flags).map((flag) => `--${flag}`)));
    expect(offered(place, "koda exec --resume ")).toEqual([
      "second\tWrite the changelog",
      "first\tFix: the login page",
    ]);
  });
});

describe.skipIf(isMissing("zsh"))("zsh", () => {
  /** Ctrl-B shows the line: no longer key begins with it, so zsh waits for none. */
  const rc =
    "PS1='ready> '; LISTMAX=10000; show() { print -r -- \"line<$BUFFER>\" }; zle -N show; bindkey '^B' show\n" +
    "source <(koda completions zsh)\n";

  async function openZsh(place: Place) {
    writeFileSync(join(place.home, ".zshrc"), rc);
    return await openShell(place, ["zsh", "-d", "-i"]);
  }

  test("completes every kind of word", async () => {
    await using place = furnished();
    await using zsh = await openZsh(place);
    for (const [line, completed] of whole) {
      const shown = await zsh.press(`\x15${line}\t\x02`, lineShown);
      expect(lineShown.exec(shown)?.[1]?.trim()).toBe(completed);
    }
  });

  test("offers sessions with their titles, and the files of a command behind --", async () => {
    await using place = furnished();
    await using zsh = await openZsh(place);
    const titles = await zsh.press("koda session show \t", /first[^]*ready> /);
    expect(titles).toMatch(/second +-- Write the changelog *\r?\n *first +-- Fix: the login page/);
    const command = await zsh.press("\x15koda sandbox -- ls x\t\x02", lineShown);
    expect(command).toContain("line<koda sandbox -- ls xylophone.md");
    expect(command).not.toContain("math");
  });
});

describe("bash", () => {
  async function openBash(place: Place) {
    const show = `bind -x '"\\C-xs": echo "line<$READLINE_LINE>"'`;
    place.write("rc", `PS1='ready> '\n${show}\neval "$(koda completions bash)"\n`);
    return await openShell(place, ["bash", "--noprofile", "--rcfile", "rc", "-i"]);
  }

  test("completes every kind of word", async () => {
    await using place = furnished();
    await using bash = await openBash(place);
    for (const [line, completed] of whole) {
      const shown = await bash.press(`\x15${line}\t\x18s`, lineShown);
      expect(lineShown.exec(shown)?.[1]?.trim()).toBe(completed);
    }
  });

  test("lists sessions with their titles", async () => {
    await using place = furnished();
    await using bash = await openBash(place);
    const shown = await bash.press("koda exec --fork \t\t", /first[^]*ready> /);
    expect(shown).toContain("first  Fix: the login page");
    expect(shown).toContain("second  Write the changelog");
  });

  test("completes the name of a model behind its colon", async () => {
    await using place = furnished();
    await using bash = await openBash(place);
    for (const line of ["koda exec -m corp/big:la", "koda exec --model=corp/big:la"]) {
      const shown = await bash.press(`\x15${line}\t\x18s`, lineShown);
      expect(lineShown.exec(shown)?.[1]?.trim()).toBe(`${line}test`);
    }
  });
});

describe("the values that koda is asked for at a key press", () => {
  test("need no home, no database and no good configuration, and leave nothing behind", async () => {
    await using place = makePlace();
    for (const kind of ["models", "providers", "sessions", "tools", "agents", "nonsense"])
      expect(await koda(place, ["__complete", kind])).toMatchObject({ exit: 0, stderr: "" });
    expect(readdirSync(place.home)).toEqual([]);
    configure(place, "{");
    mkdirSync(join(place.home, ".local/share/koda"), { recursive: true });
    writeFileSync(database(place), "this is no database, just a text ".repeat(40));
    for (const kind of ["models", "providers", "sessions", "agents"])
      expect(await koda(place, ["__complete", kind])).toEqual({ exit: 0, signal: null, stdout: "", stderr: "" });
  });

  test("are read without a byte written, while another process writes or after it was killed", async () => {
    await using place = furnished();
    const directory = join(place.home, ".local/share/koda");
    const before = readdirSync(directory);
    expect((await koda(place, ["__complete", "sessions"])).stdout).toStartWith("second\tWrite the changelog\nfirst\t");
    expect(readdirSync(directory)).toEqual(before);

    const store = openStore(database(place));
    const session = store.create({ ...start, id: "third" });
    session.append(user("Not in the database yet"));
    const bytes = await contentOf(directory);
    expect((await koda(place, ["__complete", "sessions"])).stdout).toStartWith("third\tNot in the database yet\n");
    expect(await contentOf(directory)).toEqual(bytes);
    session.close();
    store.close();
  });

  test("are the user's sessions, not those of agents, also in a database of the first version", async () => {
    await using place = makePlace();
    addSession(place, "mine", "The task");
    const store = openStore(database(place));
    const child = store.startAgent(store.find("mine"), { id: Bun.randomUUIDv7(), ...start, agent: "explore" });
    child.append(user("Look around"));
    child.close();
    store.close();
    expect((await koda(place, ["__complete", "sessions"])).stdout).toBe("mine\tThe task\n");

    await using old = makePlace();
    mkdirSync(join(old.home, ".local/share/koda"), { recursive: true });
    using db = new Database(database(old), { create: true });
    db.run(readFileSync("test/recordings/database-1.sql", "utf8"));
    expect((await koda(old, ["__complete", "sessions"])).stdout).toBe("old\tFind the needle\n");
  });
});

async function contentOf(directory: string): Promise<Record<string, string>> {
  const names = readdirSync(directory).toSorted();
  const hashes = names.map(async (name) => [name, Bun.hash(await Bun.file(join(directory, name)).bytes()).toString()]);
  return Object.fromEntries(await Promise.all(hashes));
}

describe("the line that the help gives installs the completions in an empty home", () => {
  function install(place: Place, shell: string): void {
    const example = commands.completions.examples.find(({ about }) => about === shell);
    const argv = [shell, "-c", example?.line ?? "exit 1"];
    const { exitCode, stderr } = Bun.spawnSync(argv, { cwd: place.project, env: withKoda(place) });
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  }

  test("bash", async () => {
    await using place = makePlace(files);
    install(place, "bash");
    appendFileSync(join(place.home, ".bashrc"), "PS1='ready> '\n");
    await using bash = await openShell(place, ["bash", "-i"]);
    expect(await bash.press("koda completions zs\t", /zsh/)).toContain("zsh");
  });

  test.skipIf(isMissing("zsh"))("zsh", async () => {
    await using place = makePlace(files);
    install(place, "zsh");
    appendFileSync(join(place.home, ".zshrc"), "PS1='ready> '\n");
    await using zsh = await openShell(place, ["zsh", "-d", "-i"]);
    expect(await zsh.press("koda completions ba\t", /bash/)).toContain("bash");
  });

  test.skipIf(isMissing("fish"))("fish", async () => {
    await using place = makePlace(files);
    install(place, "fish");
    const argv = ["fish", "-c", "complete -C 'koda completions zs'"];
    const child = Bun.spawnSync(argv, { cwd: place.project, env: withKoda(place) });
    expect(child.stdout.toString()).toBe("zsh\n");
  });
});
