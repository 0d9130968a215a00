import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { findTiers } from "../support/backends.ts";
import { makePlace } from "../support/place.ts";
import { shellIn, watch } from "../support/shell.ts";
import type { ChainOrder } from "../support/chain-program.ts";
import type { EndsOrder } from "../support/ends-program.ts";
import type { StraysOrder } from "../support/strays-program.ts";

const program = join(import.meta.dir, "../support/strays-program.ts");
const endsProgram = join(import.meta.dir, "../support/ends-program.ts");
const chainProgram = join(import.meta.dir, "../support/chain-program.ts");

/** Two processes on, in a session of its own, without streams. */
const sleeper = `setsid sh -c 'setsid sh -c "echo \\$\\$ > $PID; exec sleep 1000" & exit' >/dev/null 2>&1 </dev/null`;
const bare = `env -i PID="$PID" ${sleeper}`;
/** Its first thread ends, so that it looks like a zombie, and another one goes on. */
const headless = `env -i setsid ${process.execPath} -e '
  const { dlopen } = require("bun:ffi");
  const { symbols } = dlopen("libc.so.6", { syscall: { args: ["i64", "i64"], returns: "i64" } });
  new Worker("data:text/javascript,setInterval(() => {}, 1000)");
  require("fs").writeFileSync("'"$PID"'", String(process.pid));
  setTimeout(() => symbols.syscall(process.arch === "x64" ? 60 : 93, 0), 100)' >/dev/null 2>&1 </dev/null & sleep 0.5`;

const both = [true, true];
const [onlyOther, none] = [
  [false, true],
  [false, false],
];

/** `unconfined`: without a sandbox, where a command can take off or forge all that it carries. */
type Row = { name: string; line: string; unconfined?: readonly boolean[][] };

const rows: readonly Row[] = [
  { name: "in a session of its own", line: sleeper },
  { name: "without an environment", line: bare },
  { name: "that looks like a zombie", line: headless },
  { name: "with another limit", line: `ulimit -R unlimited; ${sleeper}` },
  { name: "that drops all that it carries", line: `ulimit -R unlimited; ${bare}`, unconfined: [both, both, none] },
  {
    name: "with a mark of its own making",
    line: `ulimit -R unlimited; export KODA_CALL=1; ${sleeper}`,
    unconfined: [both, both, none],
  },
  {
    name: "with a mark like those of another shell",
    line: `ulimit -SR $((KODA_CALL ^ (1 << 30))); export KODA_CALL=$((KODA_CALL ^ (1 << 30))); ${sleeper}`,
    unconfined: [both, both, none],
  },
];

/** Each of a chain of processes lives for a moment: it forks, and its child begins a session. It ends by itself. */
const chain = `$0 = $name; $end = time + 20; while (time < $end) { exit if fork; setsid; }`;

for (const [tier, missing] of await findTiers()) {
  test.skipIf(missing !== undefined)(`${tier}: a shell may stop while the process of its command exits`, async () => {
    await using place = makePlace({}, "/var/tmp");
    const { home, project, env } = place;
    const order: EndsOrder = { tier, place: { home, project, env }, shells: 20 };
    await using shell = shellIn(place);
    const { ended, heard } = watch(shell, [process.execPath, endsProgram, JSON.stringify(order)]);
    expect([await ended, heard]).toMatchObject([{ exitCode: 0 }, { stdout: "20\n", stderr: "" }]);
  });

  // In the others no process outlives its command.
  if (tier === "namespaces" || tier === "bwrap") continue;
  describe.skipIf(missing !== undefined)(`two shells in one process, ${tier}: a stray`, () => {
    test.skipIf(Bun.which("perl") === null).concurrent.each(["stopAll", "killNow"] as const)(
      "a chain of forks is ended by %s of the last shell",
      async (stop) => {
        await using place = makePlace({}, "/var/tmp");
        const name = `chain-${Bun.randomUUIDv7()}`;
        const line = `perl -MPOSIX=setsid -se '${chain}' -- -name=${name} >/dev/null 2>&1 & sleep 0.3`;
        const { home, project, env } = place;
        const order: ChainOrder = { tier, place: { home, project, env }, line, name, stop };
        await using shell = shellIn(place);
        const { ended, heard } = watch(shell, [process.execPath, chainProgram, JSON.stringify(order)]);
        expect(await ended).toMatchObject({ exitCode: 0 });
        expect(JSON.parse(heard.stdout)).toEqual({ before: true, after: false });
      },
    );

    for (const stop of ["stopAll", "killNow"] as const)
      test.concurrent.each(rows)(
        `$name is ended by ${stop} of its own shell, or of the last one`,
        async ({ line, unconfined }) => {
          const lives = (tier === "none" ? unconfined : undefined) ?? [both, onlyOther, none];
          await using place = makePlace({}, "/var/tmp");
          const { home, project, env } = place;
          const order: StraysOrder = { tier, place: { home, project, env }, line, stop, lives };
          // In a command of a shell, as when koda runs below koda: the mark that it inherits is not one of its own.
          await using shell = shellIn(place);
          const { ended, heard } = watch(shell, [process.execPath, program, JSON.stringify(order)]);
          expect(await ended).toEqual({ exitCode: 0, leftBehind: false });
          expect(JSON.parse(heard.stdout)).toEqual(lives);
        },
      );
  });
}
