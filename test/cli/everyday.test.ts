import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { asInDocker, programWithout } from "../support/denied.ts";
import { binary, checkLines, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { finished, spawnIn } from "../support/run.ts";

/** Everyday commands that leave the project, or have values that only the shell knows. */
const everyday = [
  "cd /usr/include && node -e 'console.log(1)'",
  'rm -rf "$BUILD_DIR"',
  "cd .. && node -v",
  'D=build; mkdir -p "$D" && rm -rf "$D"',
  'BUILD=$(mktemp -d) && touch "$BUILD/a" && rm -rf "$BUILD"',
  "cd / && ls",
  "cd /tmp && touch x && rm x",
  "cd ~ && pwd",
  "cd /etc && cat hostname",
  'cd "$HOME" && ls',
  "(cd /usr && make -v)",
  'for f in *; do echo "$f"; done',
  "for d in a b; do (mkdir -p $d && cd $d && rm -rf dist); done",
  "find . -name '*.tmp' -delete",
  "find . -name '*.tmp' | xargs rm -rf",
  'while read -r f; do rm -rf "$f"; done < /dev/null',
  "export OUT=/tmp/out && mkdir -p $OUT && echo 1 > $OUT/a",
  'echo x > "$TMPDIR/x"',
  "echo x > ../outside/made",
  "touch /usr/local/koda-test",
  "rm -rf ../outside/*",
  'cd ../outside && rm -rf "$PWD"/*',
  "cp file ../outside/copy",
  "mv ../outside/kept .",
  "sed -i s/a/b/ ../outside/kept",
  "tee ../outside/kept < file",
  'PATH="$PWD/bin:$PATH" node -v',
  'NODE_ENV=test node -e "process.exit(0)"',
  "node -e \"process.chdir('/usr'); console.log(process.cwd())\"",
  "git -C .. status",
  "git init -q sub && git -C sub log",
  'git config --global user.name "$USER"',
  "npm --prefix .. run build",
  "make -C /usr/include",
  "tar czf /tmp/all.tgz . && tar xzf /tmp/all.tgz -C /tmp",
  'test -d "$VENV" || python3 -c "print(1)"',
  '"$SHELL" -c "echo hi"',
  "$CMD",
  'eval "$SETUP"',
  "pushd /usr && popd",
  "chmod -R u+w ..",
  "ln -s /etc/hosts hosts && cat hosts",
];

/** None of them could do any harm here, were it to run: there is no remote, no registry and no cluster. */
const destructive: readonly (readonly [command: string, rule: RegExp])[] = [
  ["git push --force", /git push --force/],
  ["git push -f origin main", /git push/],
  ["git -c x.y=z push -fu origin main", /git push/],
  ["git push origin +main", /git push origin \+main/],
  ["git push --force-with-lease", /git push --force/],
  ["git push --mirror", /git push --mirror/],
  ["git push --delete origin old", /git push/],
  ["git push origin :old", /git push origin :old/],
  ["sh -c 'git push --force'", /git push --force/],
  ['bash -lc "git push -f"', /git push --force/],
  ["eval 'git push' --force", /git push --force/],
  ["echo 'git push -f' | sh", /git push --force/],
  ["sh <<'E'\ngit push -f\nE", /git push --force/],
  ["bash <<< 'git push -f'", /git push --force/],
  ["echo -f | xargs git push", /git push --force/],
  ["command git push -f", /git push --force/],
  ["exec git push -f", /git push --force/],
  ["busybox sh -c 'git push -f'", /git push --force/],
  ["/usr/bin/git push -f", /git push --force/],
  ["g'i't \"push\" $'\\x2df'", /git push --force/],
  ["git \\\n  push \\\n  --force", /git push --force/],
  ["A=1 B=2 git push -f", /git push --force/],
  ["env -i A=1 git push -f", /git push --force/],
  ["nohup timeout -k 1 5 nice git push -f", /git push --force/],
  ["$(which git) push -f", /git push --force/],
  ["true && { git push -f || false; }", /git push --force/],
  ["npm publish --access public", /npm publish/],
  ["npx -y vsce publish", /vsce publish/],
  ["cargo publish", /cargo publish/],
  ["twine upload dist/*", /twine upload/],
  ["gh -R a/b release delete v1 -y", /gh release delete/],
  ["terraform -chdir=infra destroy -auto-approve", /terraform destroy/],
  ["kubectl -n prod delete pod x", /kubectl delete/],
  ["sudo -n true", /sudo/],
  ["script -qc 'git push -f' /dev/null", /git push --force/],
  ["cargo +nightly publish", /cargo/],
  ["gradle :lib:publish", /gradle/],
  ["gh pr close 7 --delete-branch", /gh pr close/],
  ["eksctl delete cluster prod", /eksctl delete/],
  ["gcloud storage rm -r gs://x", /gcloud storage rm/],
  ["kubectl apply --prune -f .", /kubectl apply --prune/],
];

type Tier = "namespaces" | "landlock";

async function runAll(tier: Tier, place: Place, commands: readonly string[], ...flags: string[]) {
  await using server = await startModelServer([commands.map((command) => call("Bash", { command })), say("Done.")]);
  const before = tier === "landlock" ? [programWithout(asInDocker, dirname(place.project))] : [];
  const args = ["exec", "--json", "--net", "none", ...flags, ...using(server), "go"];
  const child = spawnIn(place, [...before, binary, ...args], { env: { SHELL: "/bin/sh" } });
  const { events, end } = checkLines(await finished(child));
  const [start] = events;
  const ended = events.flatMap((event) => (event.type === "tool.end" ? [event] : []));
  return { backend: start?.type === "session.start" ? start.sandbox.backend : undefined, end, ended };
}

function placeBesideAnother(): { place: Place; outside: string } {
  const place = makePlace({ file: "a\n" }, "/var/tmp");
  const outside = join(place.project, "../outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "kept"), "a\n");
  return { place, outside };
}

describe.each<Tier>(["namespaces", "landlock"])("in mode auto, confined by %s,", (tier) => {
  test("what developers type runs, and stays where it belongs", async () => {
    const { place, outside } = placeBesideAnother();
    await using _ = place;
    const { backend, end, ended } = await runAll(tier, place, everyday);
    expect(backend).toBe(tier);
    expect(end.tools.denied).toBe(0);
    expect(ended).toHaveLength(everyday.length);
    expect(ended.filter(({ denied, exit_code }) => denied !== undefined || exit_code === undefined)).toEqual([]);
    expect(readdirSync(outside)).toEqual(["kept"]);
    expect(readFileSync(join(outside, "kept"), "utf8")).toBe("a\n");
  }, 120_000);

  test("what nothing brings back is denied, by the rule's name", async () => {
    const { place } = placeBesideAnother();
    await using _ = place;
    const commands = destructive.map(([command]) => command);
    // The control: the same program, for something that can be undone.
    const { backend, end, ended } = await runAll(tier, place, [...commands, "git push origin main"]);
    expect(backend).toBe(tier);
    expect(end.tools.denied).toBe(destructive.length);
    for (const [index, [command, rule]] of destructive.entries())
      expect(ended[index]?.denied ?? "", command).toMatch(rule);
    expect(ended.at(-1)).toMatchObject({ exit_code: 128 });
  }, 120_000);
});

test.each(["namespaces", "landlock"] as const)(
  "in mode safe a command that only seems to read writes nothing, %s",
  async (tier) => {
    await using place = makePlace({ f: "b[$(touch hit)]", evil: "" });
    const seeming = ["read x < f; echo $((x))", "mapfile -t a < f; echo $((a))", "ls"];
    const { end, ended } = await runAll(tier, place, seeming, "--mode", "safe");
    expect(end.tools).toMatchObject({ denied: 0 });
    expect(ended).toHaveLength(3);
    expect(readdirSync(place.project).sort()).toEqual(["evil", "f"]);
    // The control: the same writes in mode auto.
    await runAll(tier, place, seeming);
    expect(readdirSync(place.project)).toContain("hit");
  },
);
