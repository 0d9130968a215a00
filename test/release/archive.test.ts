import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { compress, formats } from "../../release/compress.ts";
import { tar } from "../../release/tar.ts";
import { targets } from "../../release/targets.ts";
import { makePlace } from "../support/place.ts";

const files = [
  { path: "koda/share/text", content: Buffer.from("x".repeat(1000)) },
  { path: "koda/bin/koda", content: Buffer.from("program"), isProgram: true },
  { path: "koda/empty", content: Buffer.from("") },
];

describe.each(formats)("%s", (format) => {
  test.skipIf(format === "tar.xz" && Bun.which("xz") === null)("holds what was put in, for tar (xz)", async () => {
    await using place = makePlace();
    const path = place.write("archive", await compress(tar(files, 1_000_000_000), format, "linux-x64"));
    const listed = Bun.spawnSync(["tar", "--list", "--verbose", "--utc", "--file", path]);
    expect(listed.stdout.toString().replaceAll(/ +/g, " ")).toBe(`\
drwxr-xr-x root/root 0 2001-09-09 01:46 koda/
drwxr-xr-x root/root 0 2001-09-09 01:46 koda/bin/
-rwxr-xr-x root/root 7 2001-09-09 01:46 koda/bin/koda
-rw-r--r-- root/root 0 2001-09-09 01:46 koda/empty
drwxr-xr-x root/root 0 2001-09-09 01:46 koda/share/
-rw-r--r-- root/root 1000 2001-09-09 01:46 koda/share/text
`);
    expect(Bun.spawnSync(["tar", "-xf", path, "-C", place.home]).stderr.toString()).toBe("");
    expect(await Bun.file(join(place.home, "koda/share/text")).text()).toBe("x".repeat(1000));
  });
});

const withBusybox = targets.filter((target) => target.endsWith("-musl"));
const missing = Bun.which("xz") === null ? "xz" : Bun.which("busybox") === null ? "busybox" : undefined;
const group = `tar.xz for musl${missing ? ` (there is no ${missing})` : ""}`;

describe.skipIf(missing !== undefined)(group, () => {
  test.each(withBusybox)("is unpacked by busybox: %s", async (target) => {
    await using place = makePlace();
    const path = place.write("archive", await compress(tar(files, 0), "tar.xz", target));
    const { stderr } = Bun.spawnSync(["busybox", "tar", "-xJf", path, "-C", place.home]);
    expect(stderr.toString()).toBe("");
    expect(await Bun.file(join(place.home, "koda/bin/koda")).text()).toBe("program");
  });
});

test("the order of the files makes no difference", () => {
  expect(Bun.hash(tar([...files].reverse(), 0))).toBe(Bun.hash(tar(files, 0)));
});

test("a path that a header cannot hold is refused", () => {
  const path = `koda/${"x".repeat(100)}`;
  expect(() => tar([{ path, content: Buffer.from("") }], 0)).toThrow("at most 100 bytes");
});
