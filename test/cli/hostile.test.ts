import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { exec, koda, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

/** Everything that the runtime under koda would read from a directory it is started in, if it were let. */
const hostile = {
  "bunfig.toml": 'preload = ["./trap.ts"]\n[run]\npreload = ["./trap.ts"]\n',
  "trap.ts": 'require("node:fs").writeFileSync(`${import.meta.dir}/trapped`, "");\n',
  ".env": "KODA_MODEL=evil/model\nOPENAI_API_KEY=stolen\nOPENAI_BASE_URL=http://127.0.0.1:1/\n",
  ".env.local": "KODA_MODEL=evil/model\n",
  "tsconfig.json": '{ "compilerOptions": { "paths": { "openai": ["./trap.ts"], "zod": ["./trap.ts"] } } }',
  "package.json": '{ "name": "evil", "imports": { "#x": "./trap.ts" }, "module": "./trap.ts" }',
  "node_modules/openai/index.js": 'require("node:fs").writeFileSync(`${__dirname}/../../trapped`, "");\n',
  "node_modules/zod/index.js": 'require("node:fs").writeFileSync(`${__dirname}/../../trapped`, "");\n',
};

test("a hostile directory runs nothing in koda and changes nothing about it", async () => {
  await using place = makePlace(hostile);
  const version = await koda(place, ["--version"]);
  expect(version).toMatchObject({ exit: 0, stderr: "" });

  await using server = await startModelServer([call("Bash", { command: "env" }), say("Done.")]);
  const { end, events } = await exec(place, server, ["hi"]);
  expect(end.status).toBe("done");
  expect(events[0]).toMatchObject({ type: "session.start", model: "scripted" });
  expect(existsSync(join(place.project, "trapped"))).toBe(false);

  const printed = events.flatMap((event) => (event.type === "tool.end" ? [event.summary] : [])).join("");
  expect(printed).not.toContain("evil");
  expect(printed).not.toContain("stolen");
});

test("a hostile home directory's bunfig is not read either", async () => {
  await using place = makePlace();
  await Bun.write(join(place.home, ".bunfig.toml"), 'preload = ["./trap.ts"]\n');
  await Bun.write(join(place.home, "trap.ts"), hostile["trap.ts"]);
  await Bun.write(join(place.project, "trap.ts"), hostile["trap.ts"]);
  expect(await koda(place, ["--version"])).toMatchObject({ exit: 0, stderr: "" });
  expect(existsSync(join(place.project, "trapped"))).toBe(false);
  expect(existsSync(join(place.home, "trapped"))).toBe(false);
});

test("commands see no key, no secret and nothing of the runtime's own variables", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "env" }), say("Done.")]);
  const secrets = { SCRIPTED_KEY: "sk-1", GITHUB_TOKEN: "ghp-2", DB_PASSWORD: "pw-3", AWS_SECRET_ACCESS_KEY: "aws-4" };
  const allowed = { MY_TOKEN: "let-through" };
  const { events } = await exec(place, server, ["--api-key-env", "SCRIPTED_KEY", "--allow-env", "MY_TOKEN", "hi"], {
    env: { ...secrets, ...allowed, BUN_CONFIG_VERBOSE_FETCH: "0" },
  });
  const printed = events.flatMap((event) => (event.type === "tool.end" ? [event.summary] : [])).join("");
  for (const value of Object.values(secrets)) expect(printed).not.toContain(value);
  expect(printed).not.toContain("BUN_");
  expect(printed).toContain("MY_TOKEN=let-through");
  expect(server.requests[0]?.headers.authorization).toBe("Bearer sk-1");
  expect(server.requests.map(({ raw }) => raw).join("")).not.toContain("sk-1");
});

test("what koda runs git in is out of reach, also where temporary files lie in the project", async () => {
  await using place = makePlace({ "a.txt": "before\n", "tmp/keep": "", ".gitignore": "tmp\n" });
  const commit = "git init -q . && git add . && git -c user.name=a -c user.email=a@b.c commit -qm one";
  expect(Bun.spawnSync(["sh", "-c", commit], { cwd: place.project, env: place.env }).exitCode).toBe(0);

  const command = "ls -d tmp/koda-*; ls tmp/koda-*/git-*; echo after > a.txt";
  await using server = await startModelServer([call("Bash", { command }), say("Done.")]);
  const { events } = await exec(place, server, ["hi"], { env: { TMPDIR: join(place.project, "tmp") } });
  expect(server.requests[1]?.lines.at(-1)?.text).not.toMatch(/koda-snapshot|\bHEAD\b/);
  const changed = events.flatMap((event) => (event.type === "diff" ? event.files : []));
  expect(changed).toMatchObject([{ path: "a.txt" }]);
});

test("what is quarantined is out of reach, also where everything of koda's lies in the project", async () => {
  await using place = makePlace();
  mkdirSync(join(place.home, "tmp"));
  const inHome = { cwd: place.home, env: { TMPDIR: join(place.home, "tmp") } };
  const trap = "git init -q trap && git -C trap config core.fsmonitor ./trap.sh";
  const { exit, stderr } = await koda(place, ["sandbox", "--", "sh", "-c", trap], inHome);
  expect(exit).toBe(0);
  expect(stderr).toMatch(/^koda: warning: Quarantined "trap\/\.git".*\n$/);

  const data = join(place.home, ".local/share/koda");
  expect(readdirSync(join(data, "koda-quarantine"))).toHaveLength(1);
  const again = await koda(place, ["sandbox", "--", "ls", data], inHome);
  expect(again.stdout).toBe("");
  expect(again.stderr).not.toContain("Quarantined");
});

test("names that a command chose forge no line on stderr", async () => {
  await using place = makePlace();
  // A server of the user's outside of the project, where commands see it but may not connect.
  const outside = mkdtempSync("/var/tmp/koda-test-");
  const directory = join(outside, "a\nkoda: error: forged\u202e\u001b[2J");
  mkdirSync(directory);
  using _server = Bun.listen({ unix: join(directory, "s"), socket: { data() {} } });
  place.write("connect.py", "import os, socket\nsocket.socket(socket.AF_UNIX).connect(os.environ['D'] + '/s')\n");
  const path = directory.replace("\n", "\\n").replace("\u202e", "\\342\\200\\256").replace("\u001b", "\\033");
  const command = `export D="$(printf '${path}')"; python3 connect.py; touch "$(printf 'b\\nkoda: forged\\342\\200\\256')"`;
  await using server = await startModelServer([call("Bash", { command }), say("Done.")]);
  const { stderr, exit } = await koda(place, ["exec", ...using(server), "hi"]);
  rmSync(outside, { recursive: true });
  expect(exit).toBe(0);
  expect(stderr).toContain(String.raw`/a\nkoda: error: forged\u202e\u001b[2J/s`);
  expect(stderr).toContain(String.raw`A b koda: forged\u202e`);
  expect(stderr).not.toMatch(/^koda: (?:error|forged)/m);
  expect(stderr).not.toContain("\u202e");
});
