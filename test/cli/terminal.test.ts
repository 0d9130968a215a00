import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../lib/errors.ts";
import { openShell } from "../support/keyboard.ts";
import { using } from "../support/koda.ts";
import { call } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { processesNaming } from "../support/shell.ts";
import { until } from "../support/until.ts";

const statOf = (pid: number) => unlessRefused(() => readFileSync(`/proc/${pid}/stat`, "utf8")) ?? "";
const openBash = (place: Place) => openShell(place, ["bash", "--norc", "--noprofile", "-i"], { PS1: "ready> " });

describe("on a terminal a command and koda are one job", () => {
  test("Ctrl-C reaches the command, once, and koda only when that ends", async () => {
    await using place = makePlace();
    await using shell = await openBash(place);
    const script = 'trap "echo [got]" INT; echo [go]; while ! read line; do :; done; echo [$line]';
    await shell.press(`koda sandbox -- sh -c '${script}'; echo "code=$?"\n`, /\n\[go\]/);
    await shell.press("\u0003", /\[got\]/);
    const rest = await shell.press("more\n", /\[more\][^]*\ncode=0/);
    expect(rest).not.toContain("[got]");
    await shell.press(`koda sandbox -- sh -c 'echo [go]; exec sleep 1000'\n`, /\n\[go\]/);
    await shell.press("\u0003", /ready> /);
    await shell.press(`echo "code=$?"\n`, /\ncode=130/);
  });

  test("Ctrl-Z stops both, and fg continues them", async () => {
    await using place = makePlace();
    await using shell = await openBash(place);
    const command = `koda sandbox -- sh -c 'echo [go]; read line; echo [$line]' ${place.project}`;
    await shell.press(`${command}\n`, /\n\[go\]/);
    await shell.press("\u001a", /Stopped[^]*ready> /);
    // The shell waits for koda alone: a command that is not stopped yet still takes a key that is typed now.
    await until(
      () => processesNaming(place.project).some((pid) => statOf(pid).includes("(sh) T ")),
      "a stopped command",
    );
    await shell.press("fg\n", /koda sandbox -- sh/);
    await shell.press("again\n", /\[again\]/);
    await shell.press(`echo "code=$?"\n`, /\ncode=0/);
  });

  test("a shell in it has its own jobs, and gives the terminal back", async () => {
    await using place = makePlace();
    await using shell = await openBash(place);
    await shell.press("koda sandbox -- env PS1='inner> ' bash --norc --noprofile -i\n", /\ninner> /);
    await shell.press("sh -c 'echo [go]; while read line; do echo [$line]; done'\n", /\n\[go\]/);
    await shell.press("\u001a", /Stopped[^]*inner> /);
    await shell.press("fg\nmore\n", /\[more\]/);
    await shell.press("\u0003", /inner> /);
    await shell.press("exit 5\n", /ready> /);
    await shell.press(`echo "code=$?"\n`, /\ncode=5/);
  });

  test("what it runs in is said in a line", async () => {
    await using place = makePlace();
    await using shell = await openBash(place);
    await shell.press("koda sandbox -- printenv TERM\n", /koda: in the sandbox [^]*\ndumb/);
  });
});

test("a second Ctrl-C leaves at once, and the prompt comes on a clean line", async () => {
  await using place = makePlace();
  // It does not end when the first Ctrl-C asks it to.
  const command = "trap 'touch asked' TERM; echo '[go]'; while :; do sleep 1; done";
  await using server = await startModelServer([call("Bash", { command })]);
  await using shell = await openBash(place);
  await shell.press(`koda exec ${using(server).join(" ")} hi\n`, / {4}\[go\][^]*Bash trap/);
  await shell.press("\u0003", /\^C/);
  const pressedAt = performance.now();
  await until(() => existsSync(join(place.project, "asked")));
  // Two that come together are one.
  await until(() => performance.now() - pressedAt > 150);
  // eslint-disable-next-line no-control-regex -- the escape clears the spinner's line
  await shell.press("\u0003", /\^C[^]*\r\u001b\[Kready> /);
  await shell.press(`echo "code=$?"\n`, /\ncode=130/);
});
