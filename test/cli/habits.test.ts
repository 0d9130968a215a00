import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { exec, koda, using } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

describe.concurrent("a command word as the prompt is refused before a model is asked:", () => {
  const rows: readonly [argv: readonly string[], says: string][] = [
    [["resume", "--last"], 'koda exec --last "PROMPT"'],
    [["fork", "--last"], 'koda exec --fork ID "PROMPT"'],
    [["review"], "write koda review"],
    [["help"], "koda COMMAND --help"],
    [["version"], "koda --version"],
    [["doctor"], "koda doctor"],
    [["list"], "koda session list"],
    [["login"], "koda models"],
    [["resume", "0199"], "koda exec --resume ID"],
  ];
  for (const [argv, says] of rows)
    test(`koda exec ${argv.join(" ")}`, async () => {
      await using place = makePlace();
      await using server = await startModelServer([]);
      const { exit, stdout, stderr } = await koda(place, ["exec", ...using(server), ...argv]);
      expect({ exit, stdout }).toEqual({ exit: 2, stdout: "" });
      expect(stderr).toContain(says);
      if (argv.length === 1) expect(stderr).toContain(`koda exec -- ${argv[0]}`);
      expect(server.requests).toHaveLength(0);
      expect(existsSync(join(place.home, ".local/share/koda"))).toBe(false);
    });
});

describe.concurrent("a command word is a prompt", () => {
  const rows: readonly [how: string, argv: readonly string[], stdin?: string][] = [
    ["behind --", ["--", "review"]],
    ["in a file", ["-f", "task.md"]],
    ["on standard input", [], "review"],
    ["on standard input with -", ["-"], "review"],
  ];
  for (const [how, argv, stdin] of rows)
    test(how, async () => {
      await using place = makePlace({ "task.md": "review" });
      await using server = await startModelServer([say("Done.")]);
      const { end } = await exec(place, server, argv, { ...(stdin !== undefined && { stdin }) });
      expect(end.status).toBe("done");
      expect(server.requests).toHaveLength(1);
    });
});

test("koda -v is the version, and help may stand behind a family of commands", async () => {
  await using place = makePlace();
  expect((await koda(place, ["-v"])).stdout).toMatch(/^koda \d+\.\d+\.\d+\n$/);
  const page = await koda(place, ["session", "list", "--help"]);
  expect(page.stdout).toContain("Usage: koda session list");
  expect(await koda(place, ["session", "help", "list"])).toEqual(page);
  expect(await koda(place, ["help", "session", "list"])).toEqual(page);
});
