import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { readPrompt } from "../../cmd/prompt.ts";
import { openPipe } from "../../lib/system/pipe.ts";
import { makePlace, type Place } from "../support/place.ts";

const program = resolve(import.meta.dir, "../support/prompt-program.ts");
// Each test starts several processes, on a machine that may be busy.
setDefaultTimeout(30_000);

const limit = 10 * 1024 * 1024;

type Options = Partial<Parameters<typeof readPrompt>[0]>;
type Part = { type: string; text?: string; mime?: string; base64?: string };
type Result = { parts?: Part[]; error?: { code?: string; message: string }; rssMb: number; notes: string };

/** `prog`, in the script, is the program with its options. */
async function inShell(place: Place, script: string, options: Options): Promise<Result> {
  return await resultOf(startShell(place, script, options));
}

type Shell = { wrapper?: readonly string[]; stdin?: number };

function startShell(place: Place, script: string, options: Options, { wrapper = [], stdin }: Shell = {}) {
  return Bun.spawn([...wrapper, "sh", "-c", `prog() { "$BUN" "$FILE" "$OPTIONS"; }; ${script}`], {
    cwd: place.project,
    env: { ...place.env, BUN: process.execPath, FILE: program, OPTIONS: JSON.stringify(options) },
    stdin: stdin ?? "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

function start(place: Place, options: Options, stdin: number | "ignore" | Blob | "pipe") {
  return Bun.spawn([process.execPath, program, JSON.stringify(options)], {
    cwd: place.project,
    env: place.env,
    stdin,
    stdout: "pipe",
    stderr: "pipe",
  });
}

type Running = { stdout: ReadableStream<Uint8Array>; stderr: ReadableStream<Uint8Array>; exited: Promise<number> };

async function resultOf(child: Running, notes = new Response(child.stderr).text()): Promise<Result> {
  const [stdout, said] = await Promise.all([new Response(child.stdout).text(), notes, child.exited]);
  if (stdout === "") throw new Error(`The program printed nothing: ${said}`);
  return { ...JSON.parse(stdout), notes: said };
}

async function withStdin(place: Place, content: string | Uint8Array, options: Options): Promise<Result> {
  const path = place.write("stdin.txt", content);
  const fd = openSync(path, "r");
  try {
    return await resultOf(start(place, options, fd));
  } finally {
    closeSync(fd);
  }
}

/** A pipe whose other end this process holds, as a test harness or a CI runner does, until the scope ends. */
function harnessPipe() {
  const pipe = openPipe();
  if (pipe === undefined) throw new Error("there are no pipes here");
  const open = new Set([pipe.read, pipe.write]);
  const close = (end: number) => void (open.delete(end) && closeSync(end));
  return {
    ...pipe,
    /** Says the last words, and closes the end that is written to. */
    end(words = "") {
      writeSync(pipe.write, words);
      close(pipe.write);
    },
    [Symbol.dispose]: () => open.forEach(close),
  };
}

/** Everything said until the words come; the rest of the stream is read on, so that nobody is blocked by it. */
async function saidUntil(child: Running, words: string): Promise<{ rest: Promise<string> }> {
  const reader = child.stderr.getReader();
  const decoder = new TextDecoder();
  let said = "";
  while (!said.includes(words)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`It ended without saying "${words}": ${said}`);
    said += decoder.decode(value, { stream: true });
  }
  const readOn = async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      said += decoder.decode(next.value, { stream: true });
    return said;
  };
  return { rest: readOn() };
}

const text = (words: string) => [{ type: "text", text: words }];
const block = (prompt: string, input: string) => text(`${prompt}\n\n<stdin>\n${input}\n</stdin>`);
const usage = (message: string) => ({ code: "usage", message: expect.stringContaining(message) });

test.each([
  ["/dev/null", "prog < /dev/null"],
  ["closed", "prog <&-"],
  ["another device", "prog < /dev/zero"],
])("standard input that is %s is not read beside a prompt, and is no prompt", async (_, script) => {
  await using place = makePlace();
  expect((await inShell(place, script, { prompt: "do it" })).parts).toEqual(text("do it"));
  const { error } = await inShell(place, script, {});
  expect(error).toEqual(usage('No prompt was given: pass it as an argument (koda exec "fix the failing test")'));
});

test("a terminal is not read beside a prompt, is no prompt, and is read for -", async () => {
  await using place = makePlace();
  const run = async (options: Options, typed = "") => {
    const result = join(place.project, "result");
    const script = `"${process.execPath}" "${program}" '${JSON.stringify(options)}' > result 2> notes`;
    const said = Promise.withResolvers<void>();
    const child = Bun.spawn(["sh", "-c", `echo ready; ${script}`], {
      cwd: place.project,
      env: place.env,
      terminal: { cols: 80, rows: 24, data: () => said.resolve() },
    });
    await said.promise;
    child.terminal?.write(typed);
    await child.exited;
    child.terminal?.close();
    return { ...JSON.parse(await Bun.file(result).text()), notes: await Bun.file(join(place.project, "notes")).text() };
  };
  expect((await run({ prompt: "do it" })).parts).toEqual(text("do it"));
  expect((await run({})).error).toEqual(usage("No prompt was given"));
  const asked = await run({ prompt: "-" }, "typed\n\u0004");
  expect(asked.parts).toEqual(text("typed\n"));
  expect(asked.notes).toBe("koda: reading stdin from the terminal: Ctrl-D ends it\n");
});

test("a file is appended to the prompt, and is the prompt when there is no other", async () => {
  await using place = makePlace();
  expect((await withStdin(place, "a\nb", { prompt: "why?" })).parts).toEqual(block("why?", "a\nb"));
  expect((await withStdin(place, "a\nb\n", { prompt: "why?" })).parts).toEqual(block("why?", "a\nb"));
  expect((await withStdin(place, "do it\n", {})).parts).toEqual(text("do it\n"));
  expect((await withStdin(place, "", { prompt: "why?" })).parts).toEqual(text("why?"));
  expect((await withStdin(place, " \n", {})).error).toEqual(usage("The prompt is empty: there is no text on stdin"));
});

test("a directory as standard input is an error", async () => {
  await using place = makePlace();
  const { error } = await inShell(place, "prog < .", { prompt: "do it" });
  expect(error).toEqual(usage("Cannot read stdin: it is a directory"));
});

test.concurrent("a pipeline is waited for however late its first byte, and its process is named", async () => {
  await using place = makePlace();
  const script = "mkfifo gate; (read -r _ < gate; echo late) | prog";
  const child = startShell(place, script, { prompt: "why?" });
  const { rest } = await saidUntil(child, "waiting for the end of stdin, which sh (process ");
  writeFileSync(join(place.project, "gate"), "go\n");
  const { parts, notes } = await resultOf(child, rest);
  expect(parts).toEqual(block("why?", "late"));
  expect(notes).toMatch(/^koda: waiting for .* holds open; --stdin ignore does not wait\n$/);
});

test.concurrent("a process substitution is a pipeline too", async () => {
  await using place = makePlace();
  const child = startShell(place, "mkfifo gate in; (exec > in; read -r _ < gate; echo late) & prog < in", {
    prompt: "why?",
  });
  const { rest } = await saidUntil(child, "waiting for the end of stdin, which sh (process ");
  writeFileSync(join(place.project, "gate"), "go\n");
  expect((await resultOf(child, rest)).parts).toEqual(block("why?", "late"));
});

/** Root sees everything, so it has to become somebody else. */
const nobody = 65534;
const asUser = process.getuid?.() === 0 ? ["setpriv", `--reuid=${nobody}`, "--clear-groups"] : [];
const runsAsUser =
  asUser.every((word) => word.startsWith("--") || Bun.which(word) !== null) &&
  Bun.spawnSync([...asUser, process.execPath, "--version"]).success;

test.concurrent.skipIf(!runsAsUser)("a pipeline whose writer is hidden from us is waited for", async () => {
  await using place = makePlace();
  // A program that may be run but not read shows its descriptors to nobody.
  const hidden = place.write("bin/cat", await Bun.file(Bun.which("cat") ?? "/bin/cat").bytes());
  const gate = join(place.project, "gate");
  Bun.spawnSync(["mkfifo", "-m", "666", gate]);
  chmodSync(hidden, 0o111);
  for (const path of [dirname(place.project), place.project]) chmodSync(path, 0o755);
  if (asUser.length > 0) chownSync(hidden, nobody, nobody);

  const child = startShell(place, "bin/cat gate | prog", { prompt: "why?" }, { wrapper: asUser });
  const { rest } = await saidUntil(child, "waiting for the end of stdin, which cat (process ");
  writeFileSync(gate, "late");
  expect((await resultOf(child, rest)).parts).toEqual(block("why?", "late"));
});

test.concurrent.skipIf(process.getuid?.() !== 0)(
  "a hidden process beside a hidden ancestor is no pipeline",
  async () => {
    await using place = makePlace();
    using pipe = harnessPipe();
    const script = 'mkfifo gate; read -r _ < gate & "$BUN" "$FILE" "$OPTIONS" 65534; : > gate';
    const { parts, notes } = await resultOf(startShell(place, script, { prompt: "do it" }, { stdin: pipe.read }));
    pipe.end();
    expect(parts).toEqual(text("do it"));
    expect(notes).toContain("the process that holds it open is not visible");
  },
);

test.concurrent("a silent pipe that only an ancestor holds open does not stop a run", async () => {
  await using place = makePlace();
  using pipe = harnessPipe();
  const { parts, notes } = await resultOf(start(place, { prompt: "do it" }, pipe.read));
  expect(parts).toEqual(text("do it"));
  expect(notes).toMatch(
    /^koda: starting without stdin: nothing came within 300ms and only .+ \(process \d+\) holds it open\. Later input is added to the conversation, and the run waits for it until 3s after its start; --stdin append waits for its end, --stdin ignore does not read it\n$/,
  );
  expect(notes).toContain(`(process ${process.pid})`);
});

test.concurrent("a process beside us that holds the same pipe for reading feeds nobody", async () => {
  await using place = makePlace();
  using pipe = harnessPipe();
  const script = "mkfifo gate; exec 5<&0; read -r _ < gate & prog <&5; : > gate";
  const { parts, notes } = await resultOf(startShell(place, script, { prompt: "do it" }, { stdin: pipe.read }));
  pipe.end();
  expect(parts).toEqual(text("do it"));
  expect(notes).toContain(`(process ${process.pid}) holds it open`);
});

test.concurrent("an ancestor that writes late is heard by a session that goes on without a prompt", async () => {
  await using place = makePlace();
  using pipe = harnessPipe();
  const child = start(place, { last: true }, pipe.read);
  const { rest } = await saidUntil(child, "waiting up to 3s for stdin, which ");
  pipe.end("late");
  expect((await resultOf(child, rest)).parts).toEqual(text("late"));
});

test.concurrent(
  "a session that can go on without a prompt takes one from standard input, and does not wait long for it",
  async () => {
    await using place = makePlace();
    expect((await inShell(place, "prog < /dev/null", { resume: "mine" })).parts).toEqual([]);
    expect((await withStdin(place, "and then", { last: true })).parts).toEqual(text("and then"));
    expect((await withStdin(place, "", { last: true })).parts).toEqual([]);
    using pipe = harnessPipe();
    expect((await resultOf(start(place, { last: true }, pipe.read))).parts).toEqual([]);
  },
);

test.concurrent("quiet says only that input may be lost", async () => {
  await using place = makePlace();
  using pipe = harnessPipe();
  expect((await resultOf(start(place, { prompt: "do it", quiet: true }, pipe.read))).notes).toBe("");
  const { notes } = await resultOf(start(place, { last: true, quiet: true }, pipe.read));
  expect(notes).toMatch(/^koda: continuing without stdin: .*\n$/);
});

test.concurrent("what an ancestor sends at once is read to its end, however late that is", async () => {
  await using place = makePlace();
  using pipe = harnessPipe();
  writeSync(pipe.write, "first ");
  const child = start(place, { prompt: "do it" }, pipe.read);
  const { rest } = await saidUntil(child, `holds open`);
  pipe.end("last");
  expect((await resultOf(child, rest)).parts).toEqual(block("do it", "first last"));
});

test.concurrent("a pipe that an ancestor closed is nothing to append", async () => {
  await using place = makePlace();
  using pipe = harnessPipe();
  const child = start(place, { prompt: "do it" }, pipe.read);
  pipe.end();
  expect(await resultOf(child)).toMatchObject({ parts: text("do it"), notes: "" });
});

test.concurrent("without a prompt a pipe is the prompt, even if an ancestor takes its time", async () => {
  await using place = makePlace();
  using pipe = harnessPipe();
  const child = start(place, {}, pipe.read);
  const { rest } = await saidUntil(child, `waiting for the prompt on stdin, which `);
  pipe.end("do it");
  expect((await resultOf(child, rest)).parts).toEqual(text("do it"));
});

test.concurrent("a silent socket does not stop a run, and what it sends at once is appended", async () => {
  await using place = makePlace();
  // A pipe of Bun or Node is a pair of sockets.
  const silent = start(place, { prompt: "do it" }, "pipe");
  const { parts, notes } = await resultOf(silent);
  expect(parts).toEqual(text("do it"));
  expect(notes).toContain("nothing came within 300ms and the process that holds it open is not visible");

  const talking = start(place, { prompt: "do it" }, new Blob(["words"]));
  expect((await resultOf(talking)).parts).toEqual(block("do it", "words"));
});

test.concurrent("--stdin append and require wait for the end of a silent pipe", async () => {
  await using place = makePlace();
  for (const stdin of ["append", "require"] as const) {
    using pipe = harnessPipe();
    const child = start(place, { prompt: "do it", stdin }, pipe.read);
    const { rest } = await saidUntil(child, "waiting for the end of stdin");
    pipe.end("late");
    expect((await resultOf(child, rest)).parts).toEqual(block("do it", "late"));
  }
});

test("an empty standard input is an error with --stdin require, and nothing with append", async () => {
  await using place = makePlace();
  for (const script of ["prog < /dev/null", "prog <&-", ": | prog"]) {
    expect((await inShell(place, script, { prompt: "do it", stdin: "append" })).parts).toEqual(text("do it"));
    const { error } = await inShell(place, script, { prompt: "do it", stdin: "require" });
    expect(error).toEqual(usage("stdin is empty, but --stdin require needs input"));
  }
});

test("--stdin ignore reads nothing, and cannot be the prompt", async () => {
  await using place = makePlace();
  expect((await withStdin(place, "words", { prompt: "do it", stdin: "ignore" })).parts).toEqual(text("do it"));
  expect((await withStdin(place, "words", { stdin: "ignore" })).error).toEqual(usage("No prompt was given"));
  const { error } = await withStdin(place, "words", { prompt: "-", stdin: "ignore" });
  expect(error).toEqual(usage("The prompt cannot come from stdin (-) with --stdin ignore"));
});

test.each([{ prompt: "-" }, { file: "-" }, { file: "/dev/stdin" }])(
  "%j reads all of standard input",
  async (options) => {
    await using place = makePlace();
    expect((await withStdin(place, "do it\n", options)).parts).toEqual(text("do it\n"));
    expect((await inShell(place, "printf 'do it' | prog", options)).parts).toEqual(text("do it"));
    expect((await inShell(place, "prog < /dev/null", options)).error).toEqual(usage("The prompt is empty"));
  },
);

test("-f reads the prompt from a file, beside which standard input is appended", async () => {
  await using place = makePlace({ "task.md": "\uFEFFdo it\n" });
  expect((await withStdin(place, "", { file: "task.md" })).parts).toEqual(text("do it\n"));
  expect((await withStdin(place, "words", { file: "task.md" })).parts).toEqual(block("do it\n", "words"));
});

test("-f reads a named pipe", async () => {
  await using place = makePlace();
  const { parts } = await inShell(place, "mkfifo task; (echo do it > task) & prog", { file: "task" });
  expect(parts).toEqual(text("do it\n"));
});

const badFiles: [file: string, message: string][] = [
  ["missing.md", 'Cannot read prompt file "missing.md": no such file or directory (ENOENT)'],
  [".", 'Cannot read prompt file ".": it is a directory'],
  ["loop", 'Cannot read prompt file "loop": too many levels of symbolic links (ELOOP)'],
  ["empty.md", 'The prompt is empty: there is no text in "empty.md"'],
  ["latin1.md", 'Cannot read prompt file "latin1.md": it is not UTF-8 text'],
  ["/dev/zero", 'Cannot read prompt file "/dev/zero": it is larger than 10 MiB'],
];

test.each(badFiles)("-f %s is a usage error", async (file, message) => {
  await using place = makePlace({ "empty.md": "\n" });
  place.write("latin1.md", new Uint8Array([0x67, 0xfc, 0x6e]));
  const { error } = await inShell(place, "ln -s loop loop; prog", { file });
  expect(error).toEqual(usage(message));
});

test("two prompts at once are a usage error", async () => {
  await using place = makePlace({ "task.md": "do that" });
  const { error } = await inShell(place, "prog", { prompt: "do this", file: "task.md" });
  expect(error).toEqual(usage('Two prompts were given, "do this" and -f "task.md": give one of them'));
});

test.each(["", " \n\t"])("the prompt %j is a usage error, whatever is on standard input", async (prompt) => {
  await using place = makePlace();
  expect((await withStdin(place, "words", { prompt })).error).toEqual(usage("The prompt is empty: say what to do"));
});

test("an argument that is not UTF-8 is a usage error, and a replacement character in good text is none", async () => {
  await using place = makePlace();
  const bad = await inShell(place, `OPTIONS=$(printf '{"prompt":"caf\\351"}'); prog`, {});
  expect(bad.error).toEqual(usage("Cannot read the prompt: the argument is not UTF-8 text"));
  expect((await inShell(place, "prog", { prompt: "what is \uFFFD?" })).parts).toEqual(text("what is \uFFFD?"));
});

const bytesOf = (...bytes: number[]) => new Uint8Array(bytes);

const encodings: [what: string, bytes: Uint8Array, words: string | undefined][] = [
  ["UTF-8", new TextEncoder().encode("grün €"), "grün €"],
  ["UTF-8 with a byte order mark", bytesOf(0xef, 0xbb, 0xbf, 0x61), "a"],
  ["UTF-16, little end first", bytesOf(0xff, 0xfe, 0xac, 0x20, 0x3d, 0xd8, 0x00, 0xde), "€😀"],
  ["UTF-16, big end first", bytesOf(0xfe, 0xff, 0x20, 0xac, 0xd8, 0x3d, 0xde, 0x00), "€😀"],
  ["half a character of UTF-16", bytesOf(0xff, 0xfe, 0x3d, 0xd8), undefined],
  ["an odd byte of UTF-16", bytesOf(0xff, 0xfe, 0x61, 0x00, 0x62), undefined],
  ["UTF-32", bytesOf(0xff, 0xfe, 0x00, 0x00, 0x61, 0x00, 0x00, 0x00), undefined],
  ["Latin-1", bytesOf(0x67, 0x72, 0xfc, 0x6e), undefined],
  ["a character cut in two", bytesOf(0x61, 0xe2, 0x82), undefined],
];

test.each(encodings)("standard input in %s", async (_, bytes, words) => {
  await using place = makePlace();
  const { parts, error } = await withStdin(place, bytes, { prompt: "-" });
  expect(parts).toEqual(words === undefined ? undefined : text(words));
  if (words === undefined)
    expect(error).toEqual(usage("Cannot read stdin: it is not UTF-8 text (iconv can convert it)"));
});

test("10 MiB are accepted and one byte more is not, from a file, a pipe and a device", async () => {
  await using place = makePlace();
  const full = await inShell(place, `head -c ${limit} /dev/zero | tr '\\0' x | prog`, { prompt: "-" });
  expect(full.parts?.[0]?.text?.length).toBe(limit);
  const tooMuch = usage("Cannot read stdin: it is larger than 10 MiB");
  expect((await withStdin(place, "x".repeat(limit + 1), { prompt: "do it" })).error).toEqual(tooMuch);
  for (const script of ["yes | prog", "prog < /dev/zero"]) {
    const { error, rssMb } = await inShell(place, script, { prompt: "-" });
    expect(error).toEqual(tooMuch);
    expect(rssMb).toBeLessThan(150);
  }
});

const png = bytesOf(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 0x49, 0x45, 0x4e, 0x44);
const ascii = (words: string) => new TextEncoder().encode(words);

test("images are told by their first bytes, and keep their order", async () => {
  await using place = makePlace();
  place.write("a.txt", png);
  place.write("b.jpg", bytesOf(0xff, 0xd8, 0xff, 0xe0, 0xff, 0xd9));
  place.write("c", ascii("GIF89a..."));
  place.write("d.png", ascii("RIFF\u0001\u0001\u0001\u0001WEBPVP8 "));
  const { parts } = await inShell(place, "prog", { prompt: "look", image: ["c", "a.txt", "d.png", "b.jpg"] });
  expect(parts?.map(({ type, mime }) => mime ?? type)).toEqual([
    "text",
    "image/gif",
    "image/png",
    "image/webp",
    "image/jpeg",
  ]);
  expect(parts?.[2]).toEqual({ type: "image", mime: "image/png", base64: Buffer.from(png).toString("base64") });
});

const badImages: [file: string, message: string][] = [
  ["missing.png", 'Cannot read image "missing.png": no such file or directory (ENOENT)'],
  [".", 'Cannot read image ".": it is a directory'],
  ["notes.png", 'Cannot use image "notes.png": it is text, expected a PNG, JPEG, GIF or WebP image'],
  ["empty.png", 'Cannot use image "empty.png": it is empty, expected a PNG'],
  ["paper.pdf", 'Cannot use image "paper.pdf": it is a PDF document, expected a PNG'],
  ["old.bmp", 'Cannot use image "old.bmp": it is a BMP image, expected a PNG'],
  ["photo.heic", 'Cannot use image "photo.heic": it is a HEIF or AVIF image, expected a PNG'],
  ["huge.png", 'Cannot read image "huge.png": it is larger than 20 MB'],
];

test.each(badImages)("the image %s is a usage error that names it", async (file, message) => {
  await using place = makePlace({ "notes.png": "# notes\n", "empty.png": "", "paper.pdf": "%PDF-1.7\n" });
  place.write("old.bmp", ascii("BM\u0001\u0001\u0001\u0001\u0000\u0000\u0000\u0000"));
  place.write("photo.heic", ascii("\u0000\u0000\u0000\u0018ftypheic"));
  if (file === "huge.png") place.write(file, new Uint8Array(20_000_001));
  const { error } = await inShell(place, "prog", { prompt: "look", image: [file] });
  expect(error).toEqual(usage(message));
});

test.concurrent("a signal ends the wait for standard input, and for a named pipe that nobody opens", async () => {
  await using place = makePlace();
  using pipe = harnessPipe();
  const reading = start(place, {}, pipe.read);
  const { rest } = await saidUntil(reading, "waiting for the prompt");
  reading.kill("SIGINT");
  expect((await resultOf(reading, rest)).error).toEqual({ message: "stopped by the signal" });
  pipe.end();

  Bun.spawnSync(["mkfifo", join(place.project, "task")]);
  const opening = start(place, { file: "task" }, "ignore");
  while (!(await catches(opening.pid, constants.signals.SIGINT))) await Bun.sleep(5);
  opening.kill("SIGINT");
  expect((await resultOf(opening)).error).toEqual({ message: "stopped by the signal" });
});

/** True when the process handles the signal, so that it has started. */
async function catches(pid: number, signal: number): Promise<boolean> {
  const mask = /^SigCgt:\s*([0-9a-f]+)/m.exec(await Bun.file(`/proc/${pid}/status`).text())?.[1] ?? "0";
  return ((BigInt(`0x${mask}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

test("the demo may be asked nothing", async () => {
  await using place = makePlace();
  expect((await inShell(place, "prog < /dev/null", { model: "demo" })).parts?.[0]?.text).toContain("failing test");
  expect((await inShell(place, "prog < /dev/null", { model: "demo", prompt: "mine" })).parts).toEqual(text("mine"));
});
