import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { asInDocker, programWithout } from "../support/denied.ts";
import { binary, exec, koda } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";

const npmrc = "registry=https://npm.corp.example/\n//npm.corp.example/:_authToken=npm_secret\n";
const pipConf = "[global]\nindex-url = https://__token__:secret@pypi.corp.example/simple\n";

/** Not in /tmp, which is another one for commands. */
function makeHome(files: Record<string, string>): Place {
  const place = makePlace({}, "/var/tmp");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(place.home, name)), { recursive: true });
    writeFileSync(join(place.home, name), text);
  }
  return place;
}

/** In the strongest sandbox, or in the one without mounts. */
async function sandbox(place: Place, inContainer: boolean, args: readonly string[], env: Record<string, string> = {}) {
  const first = inContainer ? [programWithout(asInDocker, dirname(place.project))] : [];
  const { exit, stdout, stderr } = await runIn(place, [...first, binary, "sandbox", ...args], { env });
  return { exit, stdout, stderr };
}

for (const inContainer of [false, true])
  describe(inContainer ? "as in a container" : "in the strongest sandbox", () => {
    test.skipIf(Bun.which("npm") === null)("npm asks the company's registry, without the token", async () => {
      await using place = makeHome({ ".npmrc": npmrc });
      const registry = await sandbox(place, inContainer, ["--", "npm", "config", "get", "registry"]);
      expect(registry).toEqual({
        exit: 0,
        stdout: "https://npm.corp.example/\n",
        stderr: "koda: Commands get ~/.npmrc without credentials (--allow-read PATH gives them the file itself).\n",
      });
      const all = await sandbox(place, inContainer, ["--", "sh", "-c", 'cat "${npm_config_userconfig:-$HOME/.npmrc}"']);
      expect(all.stdout).toBe("registry = https://npm.corp.example/\n");
    });

    test.skipIf(Bun.which("python3") === null)("pip asks the company's index, without the password", async () => {
      await using place = makeHome({ ".config/pip/pip.conf": pipConf });
      const { stdout } = await sandbox(place, inContainer, ["--", "python3", "-m", "pip", "config", "list"]);
      expect(stdout).toContain("global.index-url='https://pypi.corp.example/simple'");
      expect(stdout).not.toContain("secret");
    });

    test("a file that is denied by name is refused and not empty", async () => {
      await using place = makeHome({ ".npmrc": npmrc, notes: "secret" });
      for (const path of [".npmrc", "notes"].map((name) => join(place.home, name))) {
        const ran = await sandbox(place, inContainer, ["--deny-read", path, "--", "cat", path]);
        expect(ran).toEqual({ exit: 1, stdout: "", stderr: expect.stringContaining(`${path}: Permission denied\n`) });
      }
    });

    test("a file that is opened by name is the file itself", async () => {
      await using place = makeHome({ ".npmrc": npmrc });
      const path = join(place.home, ".npmrc");
      const ran = await sandbox(place, inContainer, ["--allow-read", path, "--", "sh", "-c", "cat ~/.npmrc; env"]);
      expect(ran).toMatchObject({ exit: 0, stderr: "" });
      expect(ran.stdout).toStartWith(npmrc);
      expect(ran.stdout).not.toContain("npm_config_userconfig");
    });

    test("settings behind a symlink are hidden and copied where they are", async () => {
      await using place = makeHome({ "dotfiles/npmrc": npmrc });
      symlinkSync("dotfiles/npmrc", join(place.home, ".npmrc"));
      const script = 'cat ~/.npmrc ~/dotfiles/npmrc "$npm_config_userconfig"';
      const { stdout } = await sandbox(place, inContainer, ["--", "sh", "-c", script]);
      expect(stdout).toBe("registry = https://npm.corp.example/\n".repeat(inContainer ? 1 : 2));
    });

    test("a variable that names the hidden file leads to its copy, and one that names another stays", async () => {
      await using place = makeHome({ ".npmrc": npmrc, "dotfiles/other": "registry=https://other.corp.example/\n" });
      symlinkSync("../.npmrc", join(place.home, "dotfiles/link"));
      const script = 'cat "${npm_config_userconfig:-$NPM_CONFIG_USERCONFIG}"';
      const shown = async (name: string, path: string) =>
        await sandbox(place, inContainer, ["--", "sh", "-c", script], { [name]: join(place.home, path) });
      for (const name of ["npm_config_userconfig", "NPM_CONFIG_USERCONFIG"]) {
        for (const path of [".npmrc", "dotfiles/link"])
          expect((await shown(name, path)).stdout).toBe("registry = https://npm.corp.example/\n");
        expect((await shown(name, "dotfiles/other")).stdout).toBe("registry=https://other.corp.example/\n");
      }
    });

    test("variables that name a registry are passed on, without credentials", async () => {
      await using place = makeHome({});
      const env = {
        npm_config_registry: "https://npm.corp.example/",
        GOPROXY: "https://go.corp.example,direct",
        PIP_INDEX_URL: "https://u:secret@pypi.corp.example/simple",
        UV_INDEX_URL: "https://",
        npm_config__authToken: "secret",
      };
      const names = Object.keys(env).map((name) => `^${name}=`);
      const script = `env | grep -E '${names.join("|")}' | sort`;
      const ran = await sandbox(place, inContainer, ["--", "sh", "-c", script], env);
      expect(ran.stdout).toBe(
        "GOPROXY=https://go.corp.example,direct\nPIP_INDEX_URL=https://pypi.corp.example/simple\nnpm_config_registry=https://npm.corp.example/\n",
      );
      expect(ran.stderr.trimEnd().split("\n").sort()).toEqual([
        'koda: warning: "PIP_INDEX_URL" is passed on to commands without its credentials',
        'koda: warning: "UV_INDEX_URL" is not passed on to commands: its address cannot be read',
      ]);
    });
  });

test("a run says once what its commands do not get", async () => {
  await using place = makeHome({ ".npmrc": npmrc, ".cargo/config.toml": "[registries.corp]\ntoken = 'secret'\n" });
  await using server = await startModelServer([say("Done.")]);
  const { events } = await exec(place, server, ["hello"]);
  const notices = events.flatMap((event) => (event.type === "notice" && event.code === "settings" ? [event] : []));
  expect(notices).toMatchObject([
    { level: "info", message: expect.stringContaining("~/.npmrc, ~/.cargo/config.toml") },
  ]);
});

test("without a sandbox settings are what they are", async () => {
  await using place = makeHome({ ".npmrc": npmrc });
  const ran = await koda(place, [
    "sandbox",
    "--no-sandbox",
    "--",
    "sh",
    "-c",
    'cat ~/.npmrc; echo "$npm_config_userconfig"',
  ]);
  expect(ran).toMatchObject({ exit: 0, stdout: `${npmrc}\n` });
});
