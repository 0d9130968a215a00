import { describe, expect, test } from "bun:test";
import { chmodSync, closeSync, ftruncateSync, mkdirSync, openSync, symlinkSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { readTool } from "../../lib/tools/read.ts";
import { writeTool } from "../../lib/tools/write.ts";
import { callAsNobody, makeFiles, textOf } from "../support/files.ts";
import { isRoot } from "../support/nobody.ts";
import { swapOnce } from "../support/swap.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");

describe("text", () => {
  test("lines are shown with their numbers", async () => {
    await using files = makeFiles({ "a.txt": "one\ntwo\n\nfour\n" });
    const result = await readTool.run({ path: "a.txt" }, files.context);
    expect(result).toEqual({ ok: true, parts: [{ type: "text", text: "1\tone\n2\ttwo\n3\t\n4\tfour" }] });
  });

  test("a part is shown on request, with how to go on", async () => {
    await using files = makeFiles({ "a.txt": numbered(10) });
    const read = async (input: object) => textOf(await readTool.run({ path: "a.txt", ...input }, files.context));
    expect(await read({ start_line: 3, num_lines: 2 })).toBe(
      "3\tline 3\n4\tline 4\n[Lines 5 to 10 follow: continue with start_line 5.]",
    );
    expect(await read({ start_line: 9 })).toBe("9\tline 9\n10\tline 10");
    expect(await read({ start_line: 10, num_lines: 5 })).toBe("10\tline 10");
    expect(await read({ num_lines: 1 })).toBe("1\tline 1\n[Lines 2 to 10 follow: continue with start_line 2.]");
  });

  test("a line past the end is refused with the number of lines there are", async () => {
    await using files = makeFiles({ "a.txt": "one\ntwo" });
    const result = await readTool.run({ path: "a.txt", start_line: 3 }, files.context);
    expect(result.ok).toBe(false);
    expect(textOf(result)).toBe('"a.txt" has 2 lines: there is no line 3.');
  });

  test("an empty file is said to be empty, wherever the reading was to start", async () => {
    await using files = makeFiles({ "a.txt": "" });
    expect(textOf(await readTool.run({ path: "a.txt" }, files.context))).toBe('"a.txt" is empty.');
    expect(textOf(await readTool.run({ path: "a.txt", start_line: 5 }, files.context))).toBe('"a.txt" is empty.');
  });

  test("a missing newline at the end, CRLF and a BOM are told or kept out of the lines", async () => {
    await using files = makeFiles({ "a.txt": "\uFEFFone\r\ntwo\r\nthree" });
    const text = textOf(await readTool.run({ path: "a.txt" }, files.context));
    expect(text).toBe("1\tone\n2\ttwo\n3\tthree\n[No newline at the end of the file.]\n[Lines end in CRLF.]");
  });

  test("no more than 2000 lines are shown at once", async () => {
    await using files = makeFiles({ "a.txt": numbered(5000) });
    const text = textOf(await readTool.run({ path: "a.txt", num_lines: 4000 }, files.context));
    expect(text.split("\n")).toHaveLength(2001);
    expect(text).toEndWith("2000\tline 2000\n[Lines 2001 to 5000 follow: continue with start_line 2001.]");
  });

  test("no more than 50 KB are shown at once, in whole lines", async () => {
    await using files = makeFiles({ "a.txt": `${"x".repeat(999)}\n`.repeat(200) });
    const text = textOf(await readTool.run({ path: "a.txt" }, files.context));
    expect(text).toEndWith("[Lines 52 to 200 follow: continue with start_line 52.]");
    expect(text.length).toBeLessThan(52 * 1024);
  });

  test("a long line is cut between characters, with how much of it is missing", async () => {
    await using files = makeFiles({ "a.txt": `short\n${"é".repeat(5000)}\nx${"日".repeat(5000)}\nend\n` });
    const lines = textOf(await readTool.run({ path: "a.txt" }, files.context)).split("\n");
    expect(lines[1]).toBe(`2\t${"é".repeat(1000)}… [8000 more bytes in this line]`);
    expect(lines[2]).toBe(`3\tx${"日".repeat(666)}… [13001 more bytes in this line]`);
    expect(lines[3]).toBe("4\tend");
  });

  test("bytes that are no UTF-8 are shown as well as can be, and said", async () => {
    await using files = makeFiles();
    files.write("a.txt", Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]));
    const text = textOf(await readTool.run({ path: "a.txt" }, files.context));
    expect(text).toStartWith("1\tcaf\uFFFD\n[Not all of it is valid UTF-8");
  });

  test("a file of /proc, whose size is said to be 0, is read to its end", async () => {
    await using files = makeFiles();
    const result = await readTool.run({ path: "/proc/cpuinfo", num_lines: 1 }, files.context);
    expect(textOf(result)).toStartWith("1\tprocessor");
  });

  test("a megabyte in one line does no harm", async () => {
    await using files = makeFiles({ "a.txt": "x".repeat(1_000_000) });
    const text = textOf(await readTool.run({ path: "a.txt" }, files.context));
    expect(text).toBe(`1\t${"x".repeat(2000)}… [998000 more bytes in this line]\n[No newline at the end of the file.]`);
  });

  test("the demand of an abort is heard while a file is read", async () => {
    await using files = makeFiles({ "a.txt": "x" });
    const reason = new Error("stop");
    const context = { ...files.context, signal: AbortSignal.abort(reason) };
    await expect(readTool.run({ path: "a.txt" }, context)).rejects.toBe(reason);
  });
});

test("a file of gigabytes is read in passing: the line after one of 300 MB, with flat memory", async () => {
  await using files = makeFiles();
  const path = join(files.project, "big");
  const far = 300 * 2 ** 20;
  const descriptor = openSync(path, "w");
  const start = `first\n${"long ".repeat(2000)}`;
  writeSync(descriptor, start);
  writeSync(descriptor, "\nlast\n", far);
  ftruncateSync(descriptor, 2 ** 31);
  closeSync(descriptor);
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 10);
  const result = await readTool.run({ path: "big", start_line: 2, num_lines: 2 }, files.context);
  clearInterval(watch);
  const [second, third, note] = textOf(result).split("\n");
  expect(second).toStartWith("2\tlong long ");
  expect(second).toEndWith(`… [${far - 6 - 2000} more bytes in this line]`);
  expect(third).toBe("3\tlast");
  expect(note).toBe("[More follows, the file has 2.1 GB: continue with start_line 4.]");
  expect(peak - before).toBeLessThan(64e6);
}, 30_000);

describe("what the model still has in front of it", () => {
  test("is not shown again when nothing changed", async () => {
    await using files = makeFiles({ "a.txt": "one\n" });
    await readTool.run({ path: "a.txt" }, files.context);
    const again = textOf(await readTool.run({ path: "./a.txt" }, files.context));
    expect(again).toContain("unchanged since you read or wrote it");
    files.write("a.txt", "two\n");
    expect(textOf(await readTool.run({ path: "a.txt" }, files.context))).toBe("1\ttwo");
  });

  test("is not shown again when the model wrote it, however long it is", async () => {
    await using files = makeFiles();
    await writeTool.run({ path: "a.txt", content: numbered(5000) }, files.context);
    expect(textOf(await readTool.run({ path: "a.txt" }, files.context))).toContain("unchanged");
    const part = await readTool.run({ path: "a.txt", start_line: 5000 }, files.context);
    expect(textOf(part)).toBe("5000\tline 5000");
    expect(textOf(await readTool.run({ path: "a.txt" }, files.context))).toContain("unchanged");
  });

  test("is shown again when only a part was seen, or a part is asked for", async () => {
    await using files = makeFiles({ "a.txt": "one\ntwo\n" });
    await readTool.run({ path: "a.txt", num_lines: 1 }, files.context);
    expect(textOf(await readTool.run({ path: "a.txt" }, files.context))).toBe("1\tone\n2\ttwo");
    expect(textOf(await readTool.run({ path: "a.txt", start_line: 2 }, files.context))).toBe("2\ttwo");
  });

  test("is shown again when a line was cut", async () => {
    await using files = makeFiles({ "a.txt": "x".repeat(3000) });
    const first = textOf(await readTool.run({ path: "a.txt" }, files.context));
    expect(textOf(await readTool.run({ path: "a.txt" }, files.context))).toBe(first);
  });

  test("is shown again in another conversation, and after it was forgotten", async () => {
    await using files = makeFiles({ "a.txt": "one\n" });
    await using other = makeFiles();
    await readTool.run({ path: "a.txt" }, files.context);
    const elsewhere = { ...files.context, files: other.context.files };
    expect(textOf(await readTool.run({ path: "a.txt" }, elsewhere))).toBe("1\tone");
    files.context.files.forget(join(files.project, "a.txt"));
    expect(textOf(await readTool.run({ path: "a.txt" }, files.context))).toBe("1\tone");
  });
});

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe("what is not text", () => {
  const images: [name: string, bytes: Buffer, mime: string][] = [
    ["a.png", png, "image/png"],
    ["no-ending", png, "image/png"],
    ["a.jpg", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 1]), "image/jpeg"],
    ["a.gif", Buffer.from("GIF89a\0\0"), "image/gif"],
    ["a.webp", Buffer.from("RIFF\x10\0\0\0WEBPVP8 "), "image/webp"],
  ];

  test.each(images)("%s becomes an image part", async (name, bytes, mime) => {
    await using files = makeFiles();
    files.write(name, bytes);
    const result = await readTool.run({ path: name }, files.context);
    expect(result.ok).toBe(true);
    expect(result.parts[1]).toEqual({ type: "image", mime, base64: bytes.toString("base64") });
  });

  test("an image over 5 MB is refused with its size", async () => {
    await using files = makeFiles();
    files.write("a.png", Buffer.concat([png, Buffer.alloc(6_000_000)]));
    const result = await readTool.run({ path: "a.png" }, files.context);
    expect(result.ok).toBe(false);
    expect(textOf(result)).toContain("6.0 MB): at most 5 MB");
  });

  const binaries: [what: string, bytes: string | Buffer, says: string][] = [
    ["ELF", "\x7fELF\x02\x01\x01\0", "an ELF binary"],
    ["PDF", "%PDF-1.7\n", "a PDF document"],
    ["ZIP", "PK\x03\x04", "a ZIP archive"],
    ["gzip", Buffer.from([0x1f, 0x8b, 8]), "gzip data"],
    ["SQLite", "SQLite format 3\0", "an SQLite database"],
    ["tar", Buffer.from(`${"name".padEnd(257, "\0")}ustar\0`), "a tar archive"],
    ["UTF-16", Buffer.from("\uFEFFhi", "utf16le"), "UTF-16 text"],
    ["a NUL byte", "text\0more", "binary data"],
    ["a Windows program", "MZ\x90\0\x03", "a Windows binary"],
  ];

  test.each(binaries)("%s is refused with its type and size", async (_, bytes, says) => {
    await using files = makeFiles();
    files.write("x", bytes);
    const result = await readTool.run({ path: "x" }, files.context);
    expect(result.ok).toBe(false);
    expect(textOf(result)).toContain(`Cannot read "x": it is ${says}`);
    expect(textOf(result)).toMatch(/, \d+ bytes?\.$/);
  });

  test.each(["MZ is how this sentence begins", "ID3 tags explained", "BM", "RIFF and raff"])(
    "%j is text all the same",
    async (content) => {
      await using files = makeFiles({ x: content });
      expect((await readTool.run({ path: "x" }, files.context)).ok).toBe(true);
    },
  );

  test("a directory is listed", async () => {
    await using files = makeFiles({ "src/a.ts": "", "src/deep/b.ts": "", "src/.env": "" });
    symlinkSync("a.ts", join(files.project, "src/link"));
    expect(textOf(await readTool.run({ path: "src" }, files.context))).toBe(".env\na.ts\ndeep/\nlink@");
    expect(textOf(await readTool.run({ path: "." }, files.context))).toBe("src/");
    mkdirSync(join(files.project, "void"));
    expect(textOf(await readTool.run({ path: "void" }, files.context))).toBe('"void" is an empty directory.');
  });

  test("a large directory is listed in parts", async () => {
    const names = Array.from({ length: 510 }, (_, i) => `f${String(i).padStart(3, "0")}`);
    await using files = makeFiles(Object.fromEntries(names.map((name) => [name, ""])));
    const first = textOf(await readTool.run({ path: "." }, files.context));
    expect(first).toEndWith("f499\n[10 more entries: continue with start_line 501, or use Glob.]");
    const rest = textOf(await readTool.run({ path: ".", start_line: 501 }, files.context));
    expect(rest.split("\n")).toEqual(names.slice(500));
    expect(textOf(await readTool.run({ path: ".", start_line: 511 }, files.context))).toBe('"." has 510 entries.');
  });

  test("a FIFO, a socket and a device are refused at once", async () => {
    await using files = makeFiles();
    Bun.spawnSync(["mkfifo", join(files.project, "fifo")]);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(files.project, "socket"), resolve));
    const read = async (path: string) => textOf(await readTool.run({ path }, files.context));
    expect(await read("fifo")).toContain("it is a FIFO");
    expect(await read("socket")).toContain("it is a socket");
    expect(await read("/dev/null")).toContain("it is a device");
    expect(await read("/dev/zero")).toContain("it is a device");
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("what is not there", () => {
  test("is answered with the names that were meant", async () => {
    await using files = makeFiles({ "src/config.ts": "", "src/main.ts": "", "README.md": "" });
    const read = async (path: string) => textOf(await readTool.run({ path }, files.context));
    expect(await read("src/cofnig.ts")).toBe('"src/cofnig.ts" does not exist. Did you mean "src/config.ts"?');
    expect(await read("src/main.js")).toBe('"src/main.js" does not exist. Did you mean "src/main.ts"?');
    expect(await read("readme.md")).toBe('"readme.md" does not exist. Did you mean "README.md"?');
    expect(await read("src/quite-different")).toBe('"src/quite-different" does not exist.');
    expect(await read("lib/deep/x.ts")).toBe('"lib/deep/x.ts" does not exist: there is no "lib".');
  });

  test("a path that cannot be is answered with the reason", async () => {
    await using files = makeFiles({ "a.txt": "" });
    symlinkSync("loop", join(files.project, "loop"));
    const read = async (path: string) => textOf(await readTool.run({ path }, files.context));
    expect(await read("loop")).toBe('Cannot read "loop": too many levels of symbolic links');
    expect(await read("a\0b")).toContain("NUL byte");
    expect(await read("n".repeat(300))).toContain("longer than 255 bytes");
    expect(await read("a.txt/b")).toContain("not a directory");
  });
});

describe("what may be read", () => {
  test("a file outside of the project is, and it is no more than reading", async () => {
    await using files = makeFiles();
    await using elsewhere = makeFiles({ "o.txt": "out\n" });
    const path = join(elsewhere.project, "o.txt");
    expect(readTool.claim({ path }, files.context)).toEqual({ effect: "read", writes: [] });
    expect(textOf(await readTool.run({ path }, files.context))).toBe("1\tout");
  });

  test("a hidden file is not, by any name, and counts as denied", async () => {
    await using hidden = makeFiles({ id: "secret" });
    await using files = makeFiles({}, { hide: [hidden.project] });
    symlinkSync(hidden.project, join(files.project, "link"));
    for (const path of [join(hidden.project, "id"), "link/id", hidden.project, join(hidden.project, "idd")]) {
      expect(readTool.claim({ path }, files.context).outside).toContain("hidden");
      const result = await readTool.run({ path }, files.context);
      expect(result).toMatchObject({ ok: false, denied: expect.stringContaining("hidden") });
      expect(textOf(result)).not.toContain("secret");
    }
  });

  test("the environment of koda itself is not", async () => {
    await using files = makeFiles();
    expect(await readTool.run({ path: "/proc/self/environ" }, files.context)).toMatchObject({
      ok: false,
      denied: expect.any(String),
    });
  });

  test.skipIf(!isRoot)("a file without permission is answered as such", async () => {
    await using files = makeFiles({ "a.txt": "secret", "closed/b.txt": "secret" });
    chmodSync(join(files.project, ".."), 0o755);
    chmodSync(join(files.project, "a.txt"), 0o600);
    chmodSync(join(files.project, "closed"), 0o700);
    const { policy } = files.context;
    expect(textOf(await callAsNobody("read", { path: "a.txt" }, policy))).toBe(
      'Cannot read "a.txt": permission denied (EACCES)',
    );
    expect(textOf(await callAsNobody("read", { path: "closed/b.txt" }, policy))).toContain("is denied");
    expect(textOf(await callAsNobody("read", { path: "closed" }, policy))).toBe(
      'Cannot read "closed": permission denied (EACCES)',
    );
  });

  test("a symlink that takes the place of the file or of its directory after the check is not followed", async () => {
    await using hidden = makeFiles({ "a.txt": "secret" });
    await using files = makeFiles({ "dir/a.txt": "open" });
    files.write("b.txt", "open");
    for (const [path, swapped, target] of [
      ["dir/a.txt", "dir", hidden.project],
      ["b.txt", "b.txt", join(hidden.project, "a.txt")],
    ] as const) {
      const policy = swapOnce(files.context.policy, join(files.project, swapped), target);
      const result = await readTool.run({ path }, { ...files.context, policy });
      expect(result.ok).toBe(false);
      expect(textOf(result)).toMatch(/replaced by something else meanwhile|symbolic link was put in its place/);
    }
  });
});
