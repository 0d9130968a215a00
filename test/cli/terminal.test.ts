import { describe, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { binary, using } from "../support/koda.ts";
import { call } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { until } from "../support/until.ts";

/** A shell on a terminal of its own, that is typed to and looked at. */
async function typing(
  place: Place,
  script: (terminal: { type(text: string): void; shows(text: string): Promise<void> }) => Promise<void>,
) {
  const decoder = new TextDecoder();
  let shown = "";
  let wake = () => {};
  const child = Bun.spawn(["bash", "--norc", "--noprofile", "-i"], {
    cwd: place.project,
    env: { ...place.env, PS1: "ready> ", TERM: "dumb", koda: binary },
    terminal: {
      cols: 200,
      data(_terminal, bytes) {
        shown += decoder.decode(bytes, { stream: true });
        wake();
      },
    },
  });
  try {
    await script({
      type: (text) => void child.terminal?.write(text),
      /** Waits for it, behind what was waited for before. */
      async shows(text) {
        while (!shown.includes(text)) await new Promise<void>((resolve) => (wake = resolve));
        shown = shown.slice(shown.indexOf(text) + text.length);
      },
    });
  } finally {
    child.kill("SIGKILL");
    child.terminal?.close();
  }
}

describe("on a terminal a command and koda are one job", () => {
  test("Ctrl-C reaches the command, once, and koda only when that ends", async () => {
    await using place = makePlace();
    await typing(place, async ({ type, shows }) => {
      await shows("ready> ");
      type(
        `"$koda" sandbox -- sh -c 'trap "echo [got]" INT; echo [go]; while ! read line; do :; done; echo [$line]'; echo "code=$?"\n`,
      );
      await shows("\n[go]");
      type("\u0003");
      await shows("[got]");
      type("more\n");
      await shows("[more]");
      await shows("\ncode=0");
      type(`"$koda" sandbox -- sh -c 'echo [go]; exec sleep 1000'\n`);
      await shows("\n[go]");
      type("\u0003");
      await shows("ready> ");
      type(`echo "code=$?"\n`);
      await shows("\ncode=130");
    });
  });

  test("Ctrl-Z stops both, and fg continues them", async () => {
    await using place = makePlace();
    await typing(place, async ({ type, shows }) => {
      await shows("ready> ");
      type(`"$koda" sandbox -- sh -c 'echo [go]; read line; echo [$line]'\n`);
      await shows("\n[go]");
      type("\u001a");
      await shows("Stopped");
      await shows("ready> ");
      type("fg\n");
      await shows("sandbox -- sh");
      type("again\n");
      await shows("[again]");
      type(`echo "code=$?"\n`);
      await shows("\ncode=0");
    });
  });

  test("a shell in it has its own jobs, and gives the terminal back", async () => {
    await using place = makePlace();
    await typing(place, async ({ type, shows }) => {
      await shows("ready> ");
      type(`"$koda" sandbox -- env PS1='inner> ' bash --norc --noprofile -i\n`);
      await shows("inner> ");
      type("sh -c 'echo [go]; while read line; do echo [$line]; done'\n");
      await shows("\n[go]");
      type("\u001a");
      await shows("Stopped");
      await shows("inner> ");
      type("fg\n");
      type("more\n");
      await shows("[more]");
      type("\u0003");
      await shows("inner> ");
      type("exit 5\n");
      await shows("ready> ");
      type(`echo "code=$?"\n`);
      await shows("\ncode=5");
    });
  });

  test("what it runs in is said in a line", async () => {
    await using place = makePlace();
    await typing(place, async ({ type, shows }) => {
      await shows("ready> ");
      type(`"$koda" sandbox -- printenv TERM\n`);
      await shows("koda: in the sandbox ");
      await shows("\ndumb");
    });
  });
});

test("a second Ctrl-C leaves at once, and the prompt comes on a clean line", async () => {
  await using place = makePlace();
  // It does not end when the first Ctrl-C asks it to.
  const command = "trap 'touch asked' TERM; echo '[go]'; while :; do sleep 1; done";
  await using server = await startModelServer([call("Bash", { command })]);
  await typing(place, async ({ type, shows }) => {
    await shows("ready> ");
    type(`"$koda" exec ${using(server).join(" ")} hi\n`);
    await shows("    [go]");
    await shows("Bash trap");
    type("\u0003");
    await shows("^C");
    await until(() => existsSync(join(place.project, "asked")));
    type("\u0003");
    await shows("^C");
    await shows("\r\u001b[Kready> ");
    type(`echo "code=$?"\n`);
    await shows("\ncode=130");
  });
});
