import { expect, test } from "bun:test";
import { resolve } from "node:path";
import { openShell } from "./keyboard.ts";
import { makePlace } from "./place.ts";

test("a shell that ends fails the test at once, with what it printed", async () => {
  await using place = makePlace();
  await expect(openShell(place, ["sh", "-c", "echo no terminal; exit 3"])).rejects.toThrow(/^sh ended .*: no terminal/);
  await using shell = await openShell(place, ["sh", "-c", "printf 'ready> '; read -r _; echo bye"]);
  await expect(shell.press("exit\r", /never/)).rejects.toThrow(/^sh ended without showing \/never\/: [^]*bye/);
});

test("a binary that was not built fails the test at once", async () => {
  await using place = makePlace();
  const script = `import { withKoda } from "${resolve(import.meta.dir, "keyboard.ts")}"; withKoda({ env: {} });`;
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "-e", script], { cwd: place.project, env: place.env });
  expect(exitCode).toBe(1);
  expect(stderr.toString()).toContain(`There is no "${place.project}/dist/koda": build it first`);
});
