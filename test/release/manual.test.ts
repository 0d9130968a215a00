import { describe, expect, test } from "bun:test";
import { commands, type CommandSpec } from "../../cmd/commands.ts";
import { environment } from "../../cmd/environment.ts";
import { exits } from "../../cmd/exits.ts";
import { keys } from "../../lib/config/schema.ts";
import { manualPages } from "../../release/manual.ts";
import { files } from "../../release/manual/userfiles.ts";
import { heading, list, prose, shellExamples, bold, title } from "../../release/manual/roff.ts";
import { makePlace } from "../support/place.ts";

const stamp = { date: "2026-11-20", version: "1.2.3" };
const written = manualPages(stamp);
const pages = [...written];

const shownPages = new Map<string, Promise<string>>();

/** The page as a terminal would show it, on lines so long that none is broken. */
function rendered(page: string): Promise<string> {
  const shown = shownPages.get(page) ?? render(page);
  shownPages.set(page, shown);
  return shown;
}

async function render(page: string): Promise<string> {
  await using place = makePlace({ "page.1": page });
  const env = { ...place.env, LC_ALL: "C.UTF-8", MANWIDTH: "4000", MANPAGER: "cat", TERM: "dumb" };
  const { stdout, stderr } = Bun.spawnSync(["man", "--warnings", "-l", "page.1"], { cwd: place.project, env });
  expect(stderr.toString(), "man has nothing to warn about").toBe("");
  return stdout.toString();
}

const oneLine = (text: string) => text.replace(/\s+/g, " ");
const hasMan = Bun.which("man") !== null && Bun.which("groff") !== null;

test("there is a page for koda, for each command and family of commands, and for the configuration", () => {
  const names = pages.map(([name]) => name.replace(/^man\/man\d\//, ""));
  const wanted = Object.keys(commands).map((name) => `koda-${name.replaceAll(" ", "-")}.1`);
  const families = new Set(Object.keys(commands).flatMap((name) => (name.includes(" ") ? name.split(" ", 1) : [])));
  const above = [...families].map((name) => `koda-${name}.1`);
  expect(names.toSorted()).toEqual(["koda.1", "koda-config.5", ...above, ...wanted].toSorted());
});

test("the pages are ASCII, so that every locale can show them", () => {
  for (const [name, page] of pages) expect(page.replace(/[\n\x20-\x7e]/g, ""), name).toBe("");
});

describe.skipIf(!hasMan)("man and groff", () => {
  for (const [name, page] of pages)
    test(`${name} is shown without a warning, and found by its description`, async () => {
      const shown = await rendered(page);
      for (const section of ["NAME", "DESCRIPTION", "SEE ALSO"]) expect(shown).toContain(`\n${section}\n`);
      expect(shown).not.toMatch(/undefined|\\f|`/);
      await using place = makePlace({ "page.1": page });
      if (Bun.which("lexgrog") === null) return;
      const { stdout } = Bun.spawnSync(["lexgrog", "page.1"], { cwd: place.project });
      expect(stdout.toString()).toMatch(/^page\.1: "koda[\w-]* - \S.*"\n$/);
    });

  test("a page has every flag of its command, with its value and what it is for", async () => {
    for (const [name, { flags, examples }] of Object.entries<CommandSpec>(commands)) {
      const shown = oneLine(await rendered(written.get(`man/man1/koda-${name.replaceAll(" ", "-")}.1`) ?? ""));
      for (const [flag, { value, about }] of Object.entries(flags)) {
        expect(shown).toContain(value === undefined ? `--${flag} ` : `--${flag} ${value.placeholder} `);
        expect(shown).toContain(oneLine(about.replaceAll("`", "")));
      }
      for (const { line } of examples) expect(shown).toContain(oneLine(line));
    }
  });

  test("the page of a run has all exit codes, variables and files, and koda-config(5) all keys", async () => {
    const exec = oneLine(await rendered(written.get("man/man1/koda-exec.1") ?? ""));
    for (const [code, about] of exits) expect(exec).toContain(`${code} ${about}.`);
    for (const { names, about } of environment)
      expect(exec).toContain(oneLine(`${names.join(", ").replace("…", "...")} ${about}.`));
    for (const { paths } of files) expect(exec).toContain(paths.join(" "));
    const config = oneLine(await rendered(written.get("man/man5/koda-config.5") ?? ""));
    for (const [key, { about }] of Object.entries(keys))
      expect(config).toContain(
        `${key.replaceAll("*", "NAME")} ${about.replaceAll("`", "").replace(/\]\(.*?\)|\[/g, "")}`,
      );
  });

  test("text that roff would obey or change is shown as it is", async () => {
    const odd = [
      ".TH of a dot",
      "'quoted' at the start",
      'back\\slash \\fB "and" quotes',
      "a^b ~c -- d—e ü",
      "$HOME/*",
    ];
    const page = [
      title("odd", 1, stamp),
      heading("Name", "odd \\- text"),
      heading('A "section"', ...odd.map((text) => `.PP\n${prose(text)}`)),
      heading("List", list(odd.map((text) => ({ terms: [bold(text)], about: text })))),
      heading("Examples", shellExamples(odd.map((line) => ({ line, about: "Try" })))),
      "",
    ].join("\n");
    const shown = oneLine(await rendered(page));
    for (const text of odd) expect(shown.split(text).length - 1, text).toBe(4);
  });
});

test.skipIf(Bun.which("mandoc") === null)("mandoc finds no mistake", async () => {
  await using place = makePlace(Object.fromEntries(pages));
  const argv = ["mandoc", "-T", "lint", "-W", "warning", ...pages.map(([name]) => name)];
  expect(Bun.spawnSync(argv, { cwd: place.project }).stdout.toString()).toBe("");
});
