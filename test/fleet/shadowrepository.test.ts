import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { makeShadowRepository } from "../../lib/fleet/work/shadowrepository.ts";
import { makePlace } from "../support/place.ts";

const never = new AbortController().signal;

function shadowOf({ home, project }: ReturnType<typeof makePlace>) {
  const made = { directory: join(home, "shadow"), git: Bun.which("git") ?? "", root: project };
  return makeShadowRepository({ ...made, mirror: undefined, commit: undefined });
}

async function run(script: string, { project: cwd, env }: ReturnType<typeof makePlace>): Promise<void> {
  const child = Bun.spawn(["sh", "-ec", script], { cwd, env });
  expect(await child.exited).toBe(0);
}

test("a directory that becomes a link while git reads the tree brings nothing of another one", async () => {
  await using place = makePlace();
  mkdirSync(join(place.home, "other"));
  await Bun.write(join(place.home, "other/key"), "hidden\n");
  symlinkSync("hidden", join(place.home, "other/link"));
  const shadow = shadowOf(place);
  await run("mkdir -p a/b; mkfifo a/.gitignore a/b/.gitignore; echo x > x", place);
  await run("for i in $(seq 20); do mkdir d$i; echo mine > d$i/key; done", place);
  // git is in the middle of the tree when it opens the first named pipe, and waits at the second one.
  const swap = "for i in $(seq 20); do mv d$i ..; ln -s ../home/other d$i; done";
  const [patch] = await Promise.all([shadow.patch(never), run(`: > a/.gitignore; ${swap}; : > a/b/.gitignore`, place)]);
  const text = new TextDecoder().decode(patch);
  expect(text).toContain("diff --git a/x b/x");
  expect(text).not.toContain("hidden");
});

test("what git converts is in a patch as git has it, with its mode", async () => {
  await using place = makePlace();
  const shadow = shadowOf(place);
  const odd = "$(printf 'd/\\377.txt')";
  await run(
    `mkdir d; echo '*.txt eol=crlf' > .gitattributes; printf 'a\\r\\n' | tee ${odd} > x.txt; chmod +x x.txt`,
    place,
  );
  await run("ln -s x.txt link", place);
  const first = new TextDecoder().decode(await shadow.patch(never));
  expect(first.match(/^diff .*$/gm)).toHaveLength(4);
  expect(first.match(/^\+a$/gm)).toHaveLength(2);
  expect(first.match(/^new file mode 100755$/gm)).toHaveLength(1);
  expect(first).not.toContain("\r");
  await run(`rm ${odd}; echo b >> x.txt`, place);
  const second = new TextDecoder().decode(await shadow.patch(never));
  expect([second.match(/^diff .*$/gm)?.length, second.match(/^\+b$/gm)?.length]).toEqual([3, 1]);
});

test("a .gitmodules hides no submodule from a patch", async () => {
  await using place = makePlace();
  const shadow = shadowOf(place);
  await run("git init -q sub; git -C sub -c user.name=a -c user.email=a commit -q --allow-empty -m a", place);
  await run("printf '[submodule \"s\"]\\npath = sub\\nurl = u\\nignore = all\\n' > .gitmodules", place);
  expect(new TextDecoder().decode(await shadow.patch(never))).toContain("diff --git a/sub b/sub\nnew file mode 160000");
});
