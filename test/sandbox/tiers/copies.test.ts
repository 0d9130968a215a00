import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { realPaths } from "../../../lib/files/real.ts";
import { copyVariables } from "../../../lib/sandbox/settings/notice.ts";
import { copySettings } from "../../../lib/sandbox/settings/copies.ts";
import { makePlace, type Place } from "../../support/place.ts";
import { openTier, users, whyMissing } from "../../support/tiers.ts";

const home = {
  ".npmrc": "registry=https://npm.corp.example/\n_authToken=secret\n",
  ".config/pip/pip.conf": "[global]\nindex-url = https://u:secret@pypi.corp.example/simple\n",
  ".cargo/config.toml": '[registries.corp]\nindex = "https://cargo.corp.example/"\ntoken = "secret"\n',
  ".cargo/config": "[build]\njobs = 2\n",
  ".cargo/credentials.toml": 'token = "secret"\n',
  ".config/gh/hosts.yml": "github.com:\n    oauth_token: secret\n    user: me\n",
  ".config/gh/state.yml": "secret\n",
  ".pip/pip.conf": "this is secret\n",
};

/** Not in /tmp, which is another one for commands. */
function makeHome() {
  const place = makePlace({}, "/var/tmp");
  writeHome(place);
  const directory = join(dirname(place.project), "settings");
  return { place, copied: copySettings({ home: place.home, directory, resolve: realPaths }) };
}

function writeHome(place: Place): void {
  for (const [name, text] of Object.entries(home)) {
    mkdirSync(dirname(join(place.home, name)), { recursive: true });
    writeFileSync(join(place.home, name), text);
  }
}

for (const tier of ["namespaces", "bwrap", "landlock"] as const)
  for (const user of users) {
    await using scratch = makePlace();
    const missing = await whyMissing(tier, scratch, { user });
    describe.skipIf(missing !== undefined)(`${tier}, as ${user}:`, async () => {
      if (missing !== undefined) return;
      await using held = new AsyncDisposableStack();
      const { place, copied } = makeHome();
      held.use(place);
      const opened = held.use(await openTier(tier, place, { user, grants: { copies: copied.copies } }));
      const keep = held.move();
      afterAll(async () => await keep.disposeAsync());
      const isPlaced = opened.backend.placesCopies;
      const env = { H: place.home, ...(isPlaced ? {} : copyVariables(opened.policy, {})) };
      const read = async (path: string) => await opened.run(`cat ${path}`, { env });
      const refused = { exit: 1, stdout: "", stderr: expect.stringContaining("Permission denied") };

      const shown: [path: string, variable: string | undefined, text: string][] = [
        [".npmrc", "npm_config_userconfig", "registry = https://npm.corp.example/\n"],
        [".config/pip/pip.conf", "PIP_CONFIG_FILE", "[global]\nindex-url = https://pypi.corp.example/simple\n"],
        [".cargo/config.toml", undefined, '"registries"."corp"."index" = "https://cargo.corp.example/"\n'],
      ];
      test.each(shown)("of %s a command sees what is harmless", async (path, variable, text) => {
        const inPlace = await read(`"$H/${path}"`);
        expect(inPlace).toMatchObject(isPlaced ? { exit: 0, stdout: text } : refused);
        if (!isPlaced && variable !== undefined) expect(await read(`"$${variable}"`)).toMatchObject({ stdout: text });
      });

      test("of gh's settings the host and the account", async () => {
        const ran = await read(isPlaced ? '"$H/.config/gh/hosts.yml"' : '"$GH_CONFIG_DIR/hosts.yml"');
        expect(JSON.parse(ran.stdout)).toEqual({ "github.com": { user: "me", users: {} } });
      });

      test("what holds no credentials can be read where it is", async () => {
        const { stdout } = await read('"$H/.cargo/config"');
        expect(stdout).toBe(isPlaced ? '"build"."jobs" = 2\n' : home[".cargo/config"]);
      });

      const hidden = [".cargo/credentials.toml", ".pip/pip.conf", ".config/gh/state.yml"];
      test.each(hidden)("%s cannot be opened", async (path) => {
        const { exit, stdout, stderr } = await read(`"$H/${path}"`);
        expect({ exit, stdout }).toEqual({ exit: 1, stdout: "" });
        // Other files beside a copy in a hidden directory are not there at all.
        expect(stderr).toMatch(isPlaced && path.includes("/gh/") ? /No such file/ : /Permission denied/);
      });

      test("no copy can be changed", async () => {
        const run = `cd "$H/.config/gh"; for f in "$H/.npmrc" "\${npm_config_userconfig:-$H/.npmrc}" "$H/.cargo/config.toml"; do
          chmod u+w "$f"; echo secret >> "$f"; rm -f "$f"; mv "$f" "$TMPDIR"; done 2> /dev/null; exit 0`;
        await opened.run(run, { env });
        const { stdout } = await read(isPlaced ? '"$H/.npmrc"' : '"$npm_config_userconfig"');
        expect(stdout).toBe("registry = https://npm.corp.example/\n");
      });
    });
  }

for (const tier of ["namespaces", "bwrap", "landlock"] as const)
  for (const user of users) {
    await using scratch = makePlace();
    const missing = await whyMissing(tier, scratch, { user });
    test.skipIf(missing !== undefined)(
      `${tier}, as ${user}: copies in the project lead to nothing hidden`,
      async () => {
        const place = makePlace({}, "/var/tmp");
        await using _ = place;
        writeHome(place);
        const directory = join(place.project, "tmp/settings");
        const { copies } = copySettings({ home: place.home, directory, resolve: realPaths });
        await using opened = await openTier(tier, place, { user, grants: { copies } });
        const env = { H: place.home };
        const swap = `cd tmp/settings; mv .config away; ln -s "$H/.config" .config; mv .npmrc away; ln -s "$H/.npmrc" .npmrc
        cd ..; mv settings away; ln -s "$H" settings; cd ..; mv tmp away; mkdir tmp; ln -s "$H" tmp/settings`;
        await opened.run(swap, { env });
        const { stdout } = await opened.run('cat "$H/.npmrc" "$H/.config/gh/hosts.yml" "$H/.config/pip/pip.conf"', {
          env,
        });
        expect(stdout).not.toContain("secret");
      },
    );
  }

test("a file of which it cannot be told what it says is named", async () => {
  const { place, copied } = makeHome();
  await using _ = place;
  expect(copied.unclear).toEqual([join(place.home, ".pip/pip.conf")]);
});
