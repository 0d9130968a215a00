import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

const file = readFileSync("container/Containerfile", "utf8");
const instructions = file
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => {
    const [, name = "", rest = ""] = /^(\w+) (.*)$/.exec(line) ?? [];
    return { name, rest };
  });
const all = (name: string) => instructions.filter((each) => each.name === name).map(({ rest }) => rest);

test("the image runs koda as a user without rights", () => {
  expect(all("FROM")).toEqual(["docker.io/library/debian:stable-slim"]);
  expect(all("USER")).toEqual(["koda"]);
  expect(all("ENTRYPOINT").map((text) => JSON.parse(text) as unknown)).toEqual([["koda"]]);
  expect([...all("ADD"), ...all("COPY")]).toEqual([]);
  const names = instructions.map(({ name }) => name);
  expect(names.lastIndexOf("RUN")).toBeLessThan(names.indexOf("USER"));
});

test.skipIf(Bun.which("shellcheck") === null)("its commands are sound", () => {
  for (const run of all("RUN")) {
    const script = `#!/bin/sh\nexport VERSION=0 TARGETARCH=amd64\n${run.replace(/^--mount=\S+ /, "")}\n`;
    const checked = Bun.spawnSync(["shellcheck", "-"], { stdin: new Blob([script]), stdout: "pipe" });
    expect(checked.stdout.toString()).toBe("");
  }
});
