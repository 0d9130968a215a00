import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { unlessRefused } from "../../lib/errors.ts";
import type { PipedProgram, ProgramOutput } from "../../lib/shell/piped.ts";
import { type OpenOptions, Shell } from "../../lib/shell/shell.ts";
import { livingProcesses } from "../../lib/system/procstat.ts";
import { findTiers, type HeldTier, openBackend } from "../support/backends.ts";
import { makePlace } from "../support/place.ts";
import { isAlive } from "../support/shell.ts";
import { until } from "../support/until.ts";

/** A shell in a tier, in a project of its own; what is opened in it tells its stderr. */
async function shellIn(tier: HeldTier) {
  await using held = new AsyncDisposableStack();
  const place = held.use(makePlace({}, "/var/tmp"));
  const { backend, policy } = await openBackend(tier, place);
  held.use(backend);
  const shell = held.use(new Shell({ backend, policy, env: place.env }));
  const all = held.move();
  return {
    shell,
    place,
    open(line: string, options: Partial<OpenOptions> = {}): PipedProgram & { said: { stderr: string } } {
      const said = { stderr: "" };
      const stderr = (bytes: Uint8Array) => void (said.stderr += Buffer.from(bytes).toString());
      return { ...shell.open(["bash", "-c", line], { stderr, ...options }), said };
    },
    [Symbol.asyncDispose]: async () => all.disposeAsync(),
  };
}

async function textOf(output: ProgramOutput): Promise<string> {
  let text = "";
  for await (const piece of output) text += Buffer.from(piece).toString();
  return text;
}

/** Reads on to the end of a line, and leaves what comes then to be read. */
function linesOf(output: ProgramOutput): { next(): Promise<string | undefined> } {
  const pieces = output[Symbol.asyncIterator]();
  let text = "";
  return {
    async next() {
      while (!text.includes("\n")) {
        const { value } = await pieces.next();
        if (value === undefined) return undefined;
        text += Buffer.from(value).toString();
      }
      const end = text.indexOf("\n");
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      return line;
    },
  };
}

/** A process and all below it. */
function familyOf(pid: number): number[] {
  const children = (livingProcesses() ?? []).filter(({ parent }) => parent === pid);
  return [pid, ...children.flatMap((child) => familyOf(child.pid))];
}

/** It sleeps in the kernel, as does a program that writes into a full pipe. */
function isWaiting(pid: number): boolean {
  const stat = unlessRefused(() => readFileSync(`/proc/${pid}/stat`, "latin1")) ?? ") Z ";
  return /\) [SZ] /.test(stat);
}

const openFiles = () => readdirSync("/proc/self/fd").length;
const megabyte = new Uint8Array(1024 * 1024).fill(0x78);

for (const [tier, missing] of await findTiers())
  describe.skipIf(missing !== undefined)(`a program with pipes, ${tier}`, () => {
    test("reads what is written and is heard while it runs", async () => {
      await using tested = await shellIn(tier);
      const { stdin, stdout, ended, said } = tested.open('while read -r line; do echo "<$line>"; done; echo end >&2');
      const lines = linesOf(stdout);
      for (const word of ["one", "zwölf € 😀"]) {
        expect(await stdin.write(`${word}\n`)).toBe(true);
        expect(await lines.next()).toBe(`<${word}>`);
      }
      await stdin.close();
      expect(await lines.next()).toBeUndefined();
      expect(await ended).toEqual({ exitCode: 0, leftBehind: false });
      expect(said.stderr).toBe("end\n");
      expect(await stdin.write("late")).toBe(false);
    });

    test("can open its streams by name, and goes on when its stdin has ended", async () => {
      await using tested = await shellIn(tier);
      const { stdin, stdout, ended, said } = tested.open(
        "cat < /dev/stdin > /dev/stdout; echo err > /dev/stderr; echo on",
      );
      const writes = ["a", "b", "c"].map(async (word) => stdin.write(word));
      await stdin.close();
      expect(await Promise.all(writes)).toEqual([true, true, true]);
      expect(await textOf(stdout)).toBe("abcon\n");
      await ended;
      expect(said.stderr).toBe("err\n");
    });

    test("goes on when it has closed its stdout", async () => {
      await using tested = await shellIn(tier);
      const { stdin, stdout, ended } = tested.open("echo bye; exec >&-; read -r code; exit $code");
      const lines = linesOf(stdout);
      expect(await lines.next()).toBe("bye");
      // Bubblewrap's own process keeps the pipe open.
      if (tier !== "bwrap") expect(await lines.next()).toBeUndefined();
      expect(await stdin.write("7\n")).toBe(true);
      expect(await ended).toEqual({ exitCode: 7, leftBehind: false });
    });

    test.each([
      ["ends", "head -c 1 > /dev/null; exit 3", { exitCode: 3 }],
      ["is killed", "head -c 1 > /dev/null; kill -KILL $$", { exitCode: 137 }],
      ["closes its stdin", "head -c 1 > /dev/null; exec <&-; sleep 0.3; exit 4", { exitCode: 4 }],
    ])("tells who writes that it reads no more when it %s", async (_, line, status) => {
      await using tested = await shellIn(tier);
      const { stdin, ended } = tested.open(line);
      const writes = [megabyte, "more", megabyte].map(async (data) => stdin.write(data));
      expect(await Promise.all(writes)).toEqual([false, false, false]);
      expect(await ended).toMatchObject(status);
      await stdin.close();
    });

    test("has to wait when its reader does, and loses nothing", async () => {
      await using tested = await shellIn(tier);
      const much = 400e6;
      const { pid, stdout, ended } = tested.open(`exec head -c ${much} /dev/zero`);
      const before = process.memoryUsage.rss();
      let [bytes, pauses, peak] = [0, 0, 0];
      for await (const piece of stdout) {
        bytes += piece.length;
        if (bytes > pauses * 100e6) {
          pauses++;
          await until(() => familyOf(pid).every((process) => isWaiting(process)));
        }
        peak = Math.max(peak, process.memoryUsage.rss());
      }
      expect(bytes).toBe(much);
      expect(pauses).toBe(4);
      expect(await ended).toEqual({ exitCode: 0, leftBehind: false });
      expect((peak - before) / 1e6).toBeLessThan(60);
    });

    test("is heard to the end by a reader that comes late", async () => {
      await using tested = await shellIn(tier);
      const { stdout, ended } = tested.open("head -c 250000 /dev/zero; echo last");
      await ended;
      expect((await textOf(stdout)).length).toBe(250_005);
    });

    test("gets a broken pipe when its reader has had enough", async () => {
      await using tested = await shellIn(tier);
      const { stdout, ended } = tested.open("exec yes");
      for await (const piece of stdout) if (piece.length > 0) break;
      expect(await ended).toMatchObject({ exitCode: 141 });
    });

    test("ends with its timeout, its signal and `stop`", async () => {
      await using tested = await shellIn(tier);
      const controller = new AbortController();
      const timed = tested.open("exec cat", { timeoutMs: 100 });
      const aborted = tested.open("exec cat", { signal: controller.signal });
      const stopped = tested.open("exec cat");
      controller.abort();
      expect(await stopped.stop()).toMatchObject({ stopped: "stop" });
      expect(await timed.ended).toMatchObject({ stopped: "timeout" });
      expect(await aborted.ended).toMatchObject({ stopped: "abort" });
    });

    test("talks beside seven others", async () => {
      await using tested = await shellIn(tier);
      const talk = async (n: number) => {
        const { stdin, stdout, ended } = tested.open("exec cat");
        const lines = linesOf(stdout);
        for (let round = 0; round < 100; round++) {
          await stdin.write(`${n} ${round}\n`);
          expect(await lines.next()).toBe(`${n} ${round}`);
        }
        await stdin.close();
        return (await ended).exitCode;
      };
      expect(await Promise.all(Array.from({ length: 8 }, async (_, n) => talk(n)))).toEqual(Array(8).fill(0));
    });

    test.each(["stopAll", "killNow"] as const)("ends with %s, and all that it started", async (stop) => {
      await using tested = await shellIn(tier);
      const line = "setsid sh -c 'echo; exec sleep 1000' & exec cat; wait";
      const programs = Array.from({ length: 8 }, () => tested.open(line));
      for (const { stdout } of programs) expect(await linesOf(stdout).next()).toBe("");
      const writing = programs.map(async ({ stdin }) => stdin.write(megabyte));
      const all = programs.flatMap(({ pid }) => familyOf(pid));
      expect(all.length).toBeGreaterThanOrEqual(2 * programs.length);
      await tested.shell[stop]();
      await until(() => !all.some(isAlive));
      expect(await Promise.all(writing)).toEqual(Array(8).fill(false));
    });

    test("leaves no file open, however it ends", async () => {
      await using tested = await shellIn(tier);
      const endings = ["exec cat", "exit 1", "exec <&- >&-", "exec yes", "cat > /dev/null", "head -c 100000 /dev/zero"];
      const one = async (n: number) => {
        const { stdin, stdout, ended, stop } = tested.open(`echo; ${endings[n % endings.length]}`);
        const write = n % 2 === 0 ? stdin.write(megabyte) : stdin.close();
        const pieces = stdout[Symbol.asyncIterator]();
        await pieces.next();
        if (n % 3 === 0) await pieces.return();
        await (n % 4 === 0 ? stop() : Promise.race([ended, Bun.sleep(20).then(stop)]));
        await Promise.all([write, ended]);
      };
      for (let n = 0; n < 12; n++) await one(n);
      await until(() => openFiles() < 60);
      const before = openFiles();
      for (let n = 0; n < 48; n += 8) await Promise.all(Array.from({ length: 8 }, async (_, more) => one(n + more)));
      await until(() => openFiles() <= before + 2);
      expect(openFiles()).toBeLessThanOrEqual(before + 2);
    });
  });
