import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ProgramFile } from "../../../lib/sandbox/program/programfile.ts";
import { programWithout } from "../../support/denied.ts";
import { evaluateUnder } from "../../support/nobody.ts";
import { makePlace } from "../../support/place.ts";
import { findTiers } from "../../support/backends.ts";

const shebang = Buffer.from("#!/bin/sh\necho ran\n");

test("a program in memory can be started, and not be written", () => {
  using program = new ProgramFile(shebang);
  expect(Bun.spawnSync([program.path]).stdout.toString()).toBe("ran\n");
  expect(() => writeFileSync(program.path, "x")).toThrow("EPERM");
});

/** In a process whose TMPDIR lies in the project: what a command there finds that can be executed. */
const script = `
  const { openBackend } = await import(${JSON.stringify(import.meta.resolve("../../support/backends.ts"))});
  const { shellIn, watch } = await import(${JSON.stringify(import.meta.resolve("../../support/shell.ts"))});
  process.env.TMPDIR = input.place.project;
  const { backend, policy } = await openBackend(input.tier, input.place);
  const shell = shellIn(input.place, { backend, policy });
  const { ended, heard } = watch(shell, "find . -type f -perm /111");
  await ended;
  await shell.stopAll();
  backend[Symbol.dispose]();
  const answer = heard;`;

for (const [tier, missing] of await findTiers())
  test.skipIf(missing !== undefined || tier === "none")(
    `in ${tier} commands find no program of koda's that they could replace, where none can be kept in memory`,
    async () => {
      await using place = makePlace({ control: "" });
      Bun.spawnSync(["chmod", "755", join(place.project, "control")]);
      const prefix = [programWithout({ memfd_create: 1 }, place.home)];
      expect(await evaluateUnder(prefix, script, { tier, place })).toEqual({ stdout: "./control\n", stderr: "" });
    },
  );
